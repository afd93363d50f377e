// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * The TCP peer; an IPv6 address is cut to its /64, which is what one customer is given. No header
 * is believed.
 */
@Singleton
@Requires(missingBeans = ClientAddress.class)
final class PeerAddress implements ClientAddress {

  private static final int NETWORK_BYTES = 8;

  /** Callers without an address, such as those of a Unix socket, are on this machine. */
  private static final String LOCAL = "local";

  @Override
  public String of(HttpRequest<?> request) {
    InetSocketAddress peer = peer(request);
    InetAddress address = peer == null ? null : peer.getAddress();
    if (address == null) {
      return LOCAL;
    }
    // An IPv4-mapped IPv6 address is an Inet4Address already: the JDK unwraps it.
    return address instanceof Inet6Address
        ? HexFormat.of().formatHex(address.getAddress(), 0, NETWORK_BYTES) + "/64"
        : address.getHostAddress();
  }

  private static @Nullable InetSocketAddress peer(HttpRequest<?> request) {
    try {
      return request.getRemoteAddress();
    } catch (ClassCastException unixSocket) {
      return null; // Netty's request casts whatever address the channel has.
    }
  }
}
