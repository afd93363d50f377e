// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.Limiter;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.redis.RedisHealth;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.redis.connection.RedisSettings;
import io.limiter.core.resilience.DenyCache;
import io.limiter.core.resilience.FallbackCounts;
import io.limiter.core.resilience.FallbackStore;
import io.limiter.core.resilience.ShareStore;
import io.limiter.core.store.LimitStore;
import io.limiter.micronaut.config.DenyCacheConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.MemoryConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.RedisConfiguration;
import io.micronaut.configuration.lettuce.DefaultRedisConfiguration;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Provides the store. Your own store can replace a bean of this factory. */
@Factory
public final class LimitStores {

  private static final Logger LOG = LoggerFactory.getLogger(LimitStores.class);

  /**
   * Has a type of its own, since listeners that decorate beans of type {@link LimitStore} mean the
   * store that decides.
   */
  record RedisAlone(RedisStore store) implements AutoCloseable {
    @Override
    public void close() {
      store.close();
    }
  }

  @Singleton
  @Bean(preDestroy = "close")
  @Requires(beans = ConnectionSource.class)
  RedisAlone redisAlone(ConnectionSource connections, RedisSettings settings) {
    return new RedisAlone(new RedisStore(connections, settings));
  }

  /** Reports whether Redis answers. */
  @Singleton
  @Requires(beans = ConnectionSource.class)
  RedisHealth redisHealth(RedisAlone redis) {
    return redis.store().health();
  }

  @Singleton
  @Bean(preDestroy = "close")
  @Requires(beans = ConnectionSource.class)
  LimitStore redis(
      ConnectionSource connections,
      RedisAlone alone,
      LimiterConfiguration limiter,
      RedisConfiguration redis,
      MemoryConfiguration memory,
      PoliciesConfiguration policies,
      DenyCacheConfiguration denials,
      FallbackCounts counts) {
    LimitStore store =
        new ConnectingStore(
            new FallbackStore(
                alone.store(),
                inMemory(memory),
                policies.fallbacks(limiter.fallback()),
                counts,
                memory.getMaxSubjects(),
                System::nanoTime),
            connections,
            redis.getWarmUp());
    if (!denials.enabled()) {
      return store;
    }
    Set<String> asked = policies.withoutDenyCache();
    return new DenyCache(
        store, policy -> !asked.contains(policy.name()), denials.getMaxSize(), denials.getMaxAge());
  }

  @Context // logged at the start instead of with the first request
  @Bean(preDestroy = "close")
  @Requires(missingBeans = DefaultRedisConfiguration.class)
  LimitStore memory(MemoryConfiguration memory) {
    LOG.warn(
        "Neither redis.uri nor redis.uris is set: each instance of this service counts separately");
    return inMemory(memory);
  }

  private static LimitStore inMemory(MemoryConfiguration memory) {
    LimitStore store = new MemoryStore(memory.getMaxSubjects());
    return new UnclosedStore(
        memory.getInstances() == 1 ? store : new ShareStore(store, memory.getInstances()));
  }

  /** Reports how often a fallback decided. */
  @Singleton
  FallbackCounts fallbackCounts() {
    return new FallbackCounts();
  }

  @Singleton
  Limiter limiter(LimitStore store) {
    return new Limiter(store);
  }
}
