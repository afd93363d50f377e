// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.health;

import io.limiter.core.redis.RedisHealth;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.resilience.FallbackCounts;
import io.limiter.micronaut.config.HealthConfiguration;
import io.micronaut.configuration.lettuce.health.RedisHealthIndicator;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;

/**
 * Provides the limiter's health indicator. It replaces that of micronaut-redis if only the limiter
 * uses Redis; otherwise both are present.
 */
@Factory
@Requires(beans = ConnectionSource.class)
final class HealthIndicators {

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
