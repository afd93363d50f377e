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
 * Asks another sentinel first at each attempt to connect, beginning with the first in the
 * configuration. Lettuce always uses the first sentinel that answers: one that is wrong, and
 * reports a primary that is dead or a replica now, would keep the limiter from Redis for as long as
 * it is wrong, whatever the others report. URIs without sentinels are handled by Lettuce unchanged.
 */
final class SentinelClient extends AsyncClient {

  /** Time limit for a connection to a sentinel; then the next is asked. */
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
    // The builder has given the sentinels the time limit for Redis.
    rotated.getSentinels().forEach(sentinel -> sentinel.setTimeout(PATIENCE));
    return rotated;
  }
}
