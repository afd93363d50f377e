// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.resource.Transports;
import io.netty.channel.socket.SocketChannel;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.dns.DnsAddressResolverGroup;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import java.time.Duration;

/**
 * How names lead to Redis: each attempt to connect asks again, over Netty's resolver, which does
 * not block the event loop that it asks on. An address is remembered for a second, whatever its
 * record says, since it is asked for only when the last one has failed; that there is none, not at
 * all.
 */
final class NameResolution {

  /**
   * Time for one name server to answer, so that another can be asked within one attempt to connect.
   * Netty's 5 s would delay every attempt that joins a question nobody answers.
   */
  static final Duration PATIENCE = Duration.ofMillis(500);

  /** The connections of all event loops, lost together, ask together. */
  private static final int MAX_TTL_SECONDS = 1;

  /** For all clients: an event loop has one resolver with one socket, which ends with the loop. */
  static final AddressResolverGroup<?> SHARED = new DnsAddressResolverGroup(builder());

  private NameResolution() {}

  static DnsNameResolverBuilder builder() {
    return new DnsNameResolverBuilder()
        .datagramChannelType(Transports.datagramChannelClass())
        .socketChannelType(Transports.socketChannelClass().asSubclass(SocketChannel.class))
        .queryTimeoutMillis(PATIENCE.toMillis())
        .ttl(0, MAX_TTL_SECONDS)
        .negativeTtl(0);
  }
}
