// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.lettuce.core.RedisURI;
import io.limiter.core.LimitStore;
import io.limiter.core.Limiter;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.redis.RedisClients;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.resilience.FallbackStore;
import io.limiter.core.resilience.RefusingStore;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.MemoryConfiguration;
import io.limiter.micronaut.config.RedisConfiguration;
import io.micronaut.configuration.lettuce.DefaultRedisConfiguration;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.exceptions.ConfigurationException;
import jakarta.inject.Singleton;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the store, and the connection it asks. A store of your own replaces a bean of this factory.
 */
@Factory
public final class LimitStores {

  private static final Logger LOG = LoggerFactory.getLogger(LimitStores.class);

  /** Begins to connect, and does not wait: see {@link WarmStart}. */
  @Singleton
  @Bean(preDestroy = "close")
  @Requires(beans = DefaultRedisConfiguration.class)
  SharedConnection connection(DefaultRedisConfiguration redis, RedisConfiguration limiter) {
    if (!redis.getUris().isEmpty()) {
      throw new ConfigurationException(
          "redis.uris = %s: the limiter does not support Redis Cluster yet: set redis.uri to a stand-alone or Sentinel Redis"
              .formatted(redis.getUris()));
    }
    RedisURI uri = redis.getUri().orElse(redis);
    return SharedConnection.open(RedisClients.create(), uri, limiter.settings());
  }

  @Singleton
  @Bean(preDestroy = "close")
  @Requires(beans = SharedConnection.class)
  LimitStore redis(
      SharedConnection connection,
      LimiterConfiguration limiter,
      RedisConfiguration redis,
      MemoryConfiguration memory) {
    LimitStore fallback =
        switch (limiter.fallback()) {
          case LOCAL -> new MemoryStore(memory.getMaxSubjects());
          case DENY -> new RefusingStore();
        };
    return new FallbackStore(new RedisStore(connection, redis.settings()), fallback);
  }

  @Singleton
  @Bean(preDestroy = "close")
  @Requires(missingBeans = DefaultRedisConfiguration.class)
  LimitStore memory(MemoryConfiguration memory) {
    LOG.warn("No redis.uri is set: each instance of this service counts for itself");
    return new MemoryStore(memory.getMaxSubjects());
  }

  @Singleton
  Limiter limiter(LimitStore store) {
    return new Limiter(store);
  }
}
