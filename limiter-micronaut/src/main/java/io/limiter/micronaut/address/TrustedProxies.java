// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import io.micronaut.core.annotation.Internal;
import java.util.List;

/** The proxies whose forwarded headers are trusted. */
@Internal
public final class TrustedProxies {

  /** Maximum number of entries: each address of a chain is compared with all of them. */
  public static final int MAX = 1_024;

  /** No proxy is trusted. */
  public static final TrustedProxies NONE = new TrustedProxies(List.of(), false);

  private static final String UNIX = "unix";

  private final List<Network> networks;
  private final boolean unix;

  private TrustedProxies(List<Network> networks, boolean unix) {
    this.networks = networks;
    this.unix = unix;
  }

  /**
   * @param written addresses, networks, or {@code unix} for all peers on a Unix domain socket
   * @throws IllegalArgumentException with the value and the remedy
   */
  public static TrustedProxies of(List<String> written) {
    if (written.size() > MAX) {
      throw new IllegalArgumentException(
          "%d entries: give at most %d, wider networks in place of single addresses"
              .formatted(written.size(), MAX));
    }
    return new TrustedProxies(
        written.stream()
            .filter(entry -> !UNIX.equalsIgnoreCase(entry))
            .map(TrustedProxies::network)
            .toList(),
        written.stream().anyMatch(UNIX::equalsIgnoreCase));
  }

  private static Network network(String entry) {
    try {
      return Network.parse(entry);
    } catch (IllegalArgumentException mistake) {
      throw new IllegalArgumentException(entry + ": " + mistake.getMessage(), mistake);
    }
  }

  /** Whether no proxy is trusted. */
  public boolean isEmpty() {
    return networks.isEmpty() && !unix;
  }

  /** Whether peers on a Unix domain socket are trusted. */
  public boolean trustUnixSockets() {
    return unix;
  }

  /** Whether this address is that of a trusted proxy. */
  public boolean trust(IpAddress address) {
    for (Network network : networks) {
      if (network.contains(address)) {
        return true;
      }
    }
    return false;
  }
}
