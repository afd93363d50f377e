// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.ClientResources;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;

/**
 * Asks another sentinel first at each attempt to connect, from the first named on. Lettuce believes
 * the first one that answers, each time: one that is wrong, and names a primary that is dead or a
 * replica now, would keep the limiter from Redis for as long as it is wrong, whatever the others
 * say. A URI without sentinels is Lettuce's as ever.
 */
final class SentinelClient extends AsyncClient {

  /** Time for a sentinel to be connected to; then the next is asked. */
  static final Duration PATIENCE = Duration.ofMillis(500);

  private final AtomicInteger attempts = new AtomicInteger();

  SentinelClient(ClientResources resources) {
    super(resources);
  }

  /** Subscribed to at the first attempt, and again at each reconnect. */
  @Override
  protected Mono<SocketAddress> getSocketAddress(RedisURI uri) {
    return uri.getSentinels().isEmpty()
        ? super.getSocketAddress(uri)
        : Mono.defer(() -> super.getSocketAddress(rotated(uri, attempts.getAndIncrement())));
  }

  static RedisURI rotated(RedisURI uri, int places) {
    List<RedisURI> sentinels = new ArrayList<>(uri.getSentinels());
    Collections.rotate(sentinels, -places);
    RedisURI.Builder builder = RedisURI.builder(uri);
    sentinels.forEach(sentinel -> builder.withSentinel(RedisURI.builder(sentinel).build()));
    if (uri.getSentinelMasterId() != null) {
      builder.withSentinelMasterId(uri.getSentinelMasterId());
    }
    RedisURI rotated = builder.build();
    // The builder has given them the time that is for Redis.
    rotated.getSentinels().forEach(sentinel -> sentinel.setTimeout(PATIENCE));
    return rotated;
  }
}
