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
 * Makes the limiter's health indicator: in place of that of micronaut-redis where only the limiter
 * uses Redis, else beside it.
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
