// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.resource.Transports;
import io.netty.channel.socket.SocketChannel;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.dns.DnsAddressResolverGroup;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import java.time.Duration;

/**
 * Resolves the names of Redis servers. Each attempt to connect resolves again, over Netty's
 * resolver, which does not block its event loop. An address is cached for a second, whatever its
 * record allows, since it is needed only when the previous one has failed; negative answers are not
 * cached.
 */
final class NameResolution {

  /**
   * Time limit for one name server, so that another can be asked within one attempt to connect.
   * Netty's 5 s would delay every attempt that joins an unanswered query.
   */
  static final Duration PATIENCE = Duration.ofMillis(500);

  /** The connections of all event loops, lost together, share one query. */
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
