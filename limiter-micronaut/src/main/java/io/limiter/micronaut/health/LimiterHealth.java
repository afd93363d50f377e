// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.health;

import io.limiter.core.FailureReason;
import io.limiter.core.redis.RedisHealth;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.resilience.FallbackCounts;
import io.limiter.micronaut.config.HealthConfiguration;
import io.micronaut.configuration.lettuce.health.RedisHealthIndicator;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.health.HealthStatus;
import io.micronaut.management.health.indicator.HealthIndicator;
import io.micronaut.management.health.indicator.HealthResult;
import jakarta.inject.Singleton;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/**
 * Reports whether Redis answers, the state of its breakers, and how often fallbacks have decided.
 * It waits for Redis as long as a call does, without blocking a thread.
 */
final class LimiterHealth implements HealthIndicator {

  private static final String NAME = "limiter";

  /** The reasons that mean that Redis is away. The others are about this process. */
  private static final Set<FailureReason> AWAY =
      EnumSet.of(
          FailureReason.TIMEOUT,
          FailureReason.DISCONNECTED,
          FailureReason.BREAKER_OPEN,
          FailureReason.ERROR);

  private final RedisHealth redis;
  private final FallbackCounts counts;
  private final boolean redisRequired;

  LimiterHealth(RedisHealth redis, FallbackCounts counts, boolean redisRequired) {
    this.redis = redis;
    this.counts = counts;
    this.redisRequired = redisRequired;
  }

  @Override
  public Publisher<HealthResult> getResult() {
    return Mono.fromCompletionStage(redis::check).map(this::result);
  }

  private HealthResult result(List<RedisHealth.NodeStatus> nodes) {
    boolean away = nodes.stream().anyMatch(LimiterHealth::isAway);
    Map<String, Object> byName = new LinkedHashMap<>();
    nodes.forEach(node -> byName.put(node.name(), details(node)));
    return HealthResult.builder(NAME, away && redisRequired ? HealthStatus.DOWN : HealthStatus.UP)
        .details(Map.of("redis", byName, "fallbacks", fallbacks()))
        .build();
  }

  private static boolean isAway(RedisHealth.NodeStatus node) {
    return node.failure().filter(failure -> AWAY.contains(failure.reason())).isPresent();
  }

  private static Map<String, Object> details(RedisHealth.NodeStatus node) {
    Map<String, Object> details = new LinkedHashMap<>();
    details.put("answers", node.failure().isEmpty());
    node.failure().ifPresent(failure -> details.put("reason", failure.reason()));
    details.put("breaker", node.breakerOpen() ? "open" : "closed");
    return details;
  }

  /** The number of decisions by fallbacks since the start, by reason. */
  private Map<FailureReason, Long> fallbacks() {
    Map<FailureReason, Long> fallbacks = new LinkedHashMap<>();
    for (FailureReason reason : FailureReason.values()) {
      fallbacks.put(reason, counts.of(reason));
    }
    return fallbacks;
  }

  /**
   * Provides the limiter's health indicator. It replaces that of micronaut-redis if only the
   * limiter uses Redis; otherwise both are present.
   */
  @Factory
  @Requires(beans = ConnectionSource.class)
  static final class HealthIndicators {

    @Singleton
    @Replaces(RedisHealthIndicator.class)
    @Requires(condition = RedisUsers.None.class)
    LimiterHealth inPlace(RedisHealth redis, FallbackCounts counts, HealthConfiguration health) {
      return new LimiterHealth(redis, counts, health.isRedisRequired());
    }

    @Singleton
    @Requires(condition = RedisUsers.Some.class)
    LimiterHealth beside(RedisHealth redis, FallbackCounts counts, HealthConfiguration health) {
      return new LimiterHealth(redis, counts, health.isRedisRequired());
    }
  }
}
