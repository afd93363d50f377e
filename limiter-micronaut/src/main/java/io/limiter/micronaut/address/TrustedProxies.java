// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import io.micronaut.core.annotation.Internal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The proxies whose forwarded headers are trusted. */
@Internal
public final class TrustedProxies {

  /** Maximum number of entries. */
  public static final int MAX = 1_024;

  /** No proxy is trusted. */
  public static final TrustedProxies NONE = new TrustedProxies(List.of(), false);

  private static final String UNIX = "unix";

  private final List<Network> networks;
  private final boolean unix;
  private final ByNetwork<Network> index = new ByNetwork<>();

  private TrustedProxies(List<Network> networks, boolean unix) {
    this.networks = networks;
    this.unix = unix;
    networks.forEach(network -> index.put(network, network));
  }

  /**
   * @param written addresses, networks, or {@code unix} for all peers on a Unix domain socket
   * @throws IllegalArgumentException with the value and the remedy
   */
  public static TrustedProxies of(List<String> written) {
    if (written.size() > MAX) {
      throw new IllegalArgumentException(
          "%s entries: specify at most %s, with wider networks in place of single addresses"
              .formatted(written.size(), MAX));
    }
    return new TrustedProxies(
        written.stream()
            .filter(entry -> !UNIX.equalsIgnoreCase(entry))
            .map(entry -> network(entry, Network.WIDEST_IPV4, Network.WIDEST_IPV6))
            .toList(),
        written.stream().anyMatch(UNIX::equalsIgnoreCase));
  }

  /**
   * One address or network, however wide, or {@code unix}.
   *
   * @throws IllegalArgumentException with the value and the remedy
   */
  public static TrustedProxies ofOne(String written) {
    if (UNIX.equalsIgnoreCase(written)) {
      return new TrustedProxies(List.of(), true);
    }
    return new TrustedProxies(List.of(network(written, 0, 0)), false);
  }

  private static Network network(String entry, int widestIpv4, int widestIpv6) {
    try {
      return Network.parse(entry, widestIpv4, widestIpv6);
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

  /** Whether they are more than a /8 of IPv4 or a /16 of IPv6, or all of a Unix domain socket. */
  public boolean isWide() {
    return unix || networks.stream().anyMatch(Network::isWide);
  }

  /** The networks in one spelling. */
  public String text() {
    return unix ? UNIX : networks.stream().map(Network::text).collect(Collectors.joining(", "));
  }

  /** Whether this address is that of a trusted proxy. */
  public boolean trust(IpAddress address) {
    return index.matches(address, any -> true);
  }

  /**
   * Values by networks. An address is looked up once for each length of a prefix, however many
   * networks have it: each request asks, on its event loop.
   *
   * @param <V> the values
   */
  @Internal
  public static final class ByNetwork<V> {

    // By the shared bits and the first address; filled before other threads use it.
    private final Map<Integer, Map<IpAddress, V>> byBits = new HashMap<>();
    private @Nullable V unix;

    private void put(Network network, V value) {
      byBits.computeIfAbsent(network.bits, any -> new HashMap<>()).put(network.first, value);
    }

    /** Adds the value of these networks, in place of an earlier value of the same ones. */
    public void put(TrustedProxies networks, V value) {
      networks.networks.forEach(network -> put(network, value));
      unix = networks.unix ? value : unix;
    }

    /** Whether a value of a network that contains an address is such. */
    public boolean matches(IpAddress address, Predicate<V> some) {
      for (Map.Entry<Integer, Map<IpAddress, V>> length : byBits.entrySet()) {
        int bits = length.getKey();
        V value =
            bits < Network.BEFORE_IPV4 && address.isIpv4()
                ? null // no network of IPv6 contains one of IPv4
                : length.getValue().get(address.masked(bits));
        if (value != null && some.test(value)) {
          return true;
        }
      }
      return false;
    }

    /** Whether the value of peers on a Unix domain socket is such. */
    public boolean matchesUnixSockets(Predicate<V> some) {
      return unix != null && some.test(unix);
    }
  }

  /**
   * The addresses that share their first bits. An IPv6 network contains no IPv4 address, although
   * IPv4 addresses are represented as IPv6 addresses.
   *
   * @param first its first address
   * @param bits number of shared bits, of 128
   */
  record Network(IpAddress first, int bits) {

    private static final int ALL_BITS = 128;
    private static final int IPV4_BITS = 32;
    private static final int BEFORE_IPV4 = ALL_BITS - IPV4_BITS;

    /** The prefix of 10.0.0.0/8, the widest private network. */
    private static final int WIDEST_IPV4 = 8;

    /** The prefix of fc00::/7, the widest private network of IPv6. */
    private static final int WIDEST_IPV6 = 7;

    /** Networks of IPv6 with a shorter prefix are wide. */
    private static final int WIDE_IPV6 = 16;

    /**
     * An address, or one with the length of the prefix: {@code 10.0.0.0/8}, {@code 2001:db8::/32}.
     *
     * @param widestIpv4 the least length of a prefix of IPv4
     * @param widestIpv6 the least length of a prefix of IPv6
     * @throws IllegalArgumentException with the remedy, if the text is not a network, or the
     *     network is wider
     */
    static Network parse(String text, int widestIpv4, int widestIpv6) {
      int slash = text.indexOf('/');
      boolean zone = text.indexOf('%') >= 0;
      IpAddress first = zone ? null : IpAddress.parse(slash < 0 ? text : text.substring(0, slash));
      if (first == null) {
        throw noNetwork();
      }
      // ::ffff:10.0.0.0/104 is written as an IPv6 network, and means 10.0.0.0/8.
      boolean writtenAsIpv4 = text.indexOf(':') < 0;
      int most = writtenAsIpv4 ? IPV4_BITS : ALL_BITS;
      int written = slash < 0 ? most : length(text, slash + 1, most);
      Network network = new Network(first, writtenAsIpv4 ? BEFORE_IPV4 + written : written);
      boolean ipv4 = network.isIpv4();
      if (network.bits < (ipv4 ? BEFORE_IPV4 + widestIpv4 : widestIpv6)) {
        throw new IllegalArgumentException(
            "this network is too wide: write narrower ones, none wider than /%s"
                .formatted(ipv4 ? widestIpv4 : widestIpv6));
      }
      if (!first.masked(network.bits).equals(first)) {
        throw new IllegalArgumentException(
            "the address has bits set after its first %s bits: write that address without /%s, or the network's first one"
                .formatted(written, written));
      }
      return network;
    }

    private boolean isIpv4() {
      return first.isIpv4() && bits >= BEFORE_IPV4;
    }

    boolean isWide() {
      return bits < (isIpv4() ? BEFORE_IPV4 + WIDEST_IPV4 : WIDE_IPV6);
    }

    /** As {@link #parse} reads it: in IPv6, RFC 5952. */
    String text() {
      return (isIpv4() ? first.network(ALL_BITS) : first.ipv6())
          + (bits == ALL_BITS ? "" : "/" + (isIpv4() ? bits - BEFORE_IPV4 : bits));
    }

    private static int length(String text, int from, int most) {
      int digits = text.length() - from;
      int length = 0;
      for (int at = from; at < text.length(); at++) {
        if (!IpAddress.isDigit(text.charAt(at)) || digits > 3) {
          throw noNetwork();
        }
        length = length * 10 + text.charAt(at) - '0';
      }
      boolean leadingZero = digits > 1 && text.charAt(from) == '0';
      if (digits == 0 || leadingZero || length > most) {
        throw noNetwork();
      }
      return length;
    }

    private static IllegalArgumentException noNetwork() {
      return new IllegalArgumentException(
          "it is neither an address nor a network: write, for example, 192.0.2.1, 10.0.0.0/8, 2001:db8::/32, or unix");
    }
  }
}
