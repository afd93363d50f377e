// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.override.OverrideTable;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.RedisHealth;
import io.limiter.core.redis.RedisHealth.NodeListener;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.resilience.DenyCache;
import io.limiter.core.resilience.FallbackCounts;
import io.limiter.core.resilience.FallbackStore;
import io.limiter.core.resilience.FallbackStore.StoreListener;
import io.limiter.core.resilience.ShareStore;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.LimitStore.KnownUse;
import io.limiter.core.store.Mode;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.DenyCacheConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.MemoryConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.RedisConfiguration;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.Environment;
import io.micronaut.context.exceptions.ConfigurationException;
import jakarta.inject.Singleton;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Provides the store. Your own store can replace a bean of this factory. */
@Factory
public final class LimitStoreFactory {

  private static final Logger LOG = LoggerFactory.getLogger(LimitStoreFactory.class);

  /** The named connections of micronaut-redis. */
  private static final String SERVERS = "redis.servers";

  // By name, since micronaut-redis is optional.
  private static final String LETTUCE = "io.micronaut.configuration.lettuce.RedisSetting";

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
  RedisAlone redisAlone(
      ConnectionSource connections, RedisSettings settings, List<NodeListener> listeners) {
    return new RedisAlone(new RedisStore(connections, settings, listeners));
  }

  /** Reports whether Redis answers. */
  @Singleton
  @Requires(beans = ConnectionSource.class)
  RedisHealth redisHealth(RedisAlone redis) {
    return redis.store().health();
  }

  @Singleton
  @Requires(beans = ConnectionSource.class)
  OverrideTable sharedOverrides(RedisAlone redis) {
    return redis.store().overrides();
  }

  @Singleton
  @Requires(missingBeans = ConnectionSource.class)
  OverrideTable ownOverrides() {
    return new OverrideTable.InMemory();
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
      FallbackCounts counts,
      List<StoreListener> listeners) {
    LimitStore store =
        new FallbackStore(
                alone.store(),
                inMemory(memory),
                policies.fallbacks(limiter.fallback()),
                counts,
                memory.maxSubjects(),
                System::nanoTime,
                listeners,
                LoggerFactory.getLogger(FallbackStore.class))
            .whileConnecting(connections.firstAttempt(), redis.warmUp());
    if (!denials.enabled()) {
      return store;
    }
    return new DenyCache(store, policies::denyCache, denials.maxSize(), denials.maxAge());
  }

  @Singleton
  @Bean(preDestroy = "close")
  @Requires(missingBeans = ConnectionSource.class)
  LimitStore memory(MemoryConfiguration memory, RedisConfiguration redis, Environment environment) {
    if (redis.enabled()) {
      requireClient(environment);
    }
    LOG.warn(
        "{}: each instance of this service counts separately{}",
        redis.enabled()
            ? "Neither redis.uri nor redis.uris is set"
            : "limiter.redis.enabled is false",
        redis.enabled() && environment.containsProperties(SERVERS)
            ? ". The limiter does not use the servers under " + SERVERS
            : "");
    return inMemory(memory);
  }

  /**
   * Has the store created at the start, where its line of the log belongs, and not by the first
   * request. The store of this factory is not created where another replaces it; as a bean of the
   * context it would be.
   *
   * @param store unused
   */
  @Context
  @Requires(missingBeans = ConnectionSource.class)
  record StoreAtStart(LimitStore store) {}

  /** With a Redis that nothing can connect to, each instance would count separately unnoticed. */
  private static void requireClient(Environment environment) {
    if (environment.isPresent(LETTUCE)) {
      return;
    }
    for (String uri : List.of("redis.uri", "redis.uris")) {
      if (environment.containsProperties(uri)) {
        throw new ConfigurationException(
            "%s is set, and there is no Redis client: add the dependency io.micronaut.redis:micronaut-redis-lettuce, or remove the setting, so that each instance counts separately"
                .formatted(uri));
      }
    }
  }

  private static LimitStore inMemory(MemoryConfiguration memory) {
    LimitStore store = new MemoryStore(memory.maxSubjects());
    return new UnclosedStore(
        memory.instances() == 1 ? store : new ShareStore(store, memory.instances()));
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

  /**
   * A memory store that is not closed with its context: the server still serves for a moment, and
   * its pending calls must be decided. The store holds no resources except memory.
   */
  record UnclosedStore(LimitStore memory) implements LimitStore {

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return memory.decide(request, mode);
    }

    @Override
    public void adopt(Charge charge, KnownUse known) {
      memory.adopt(charge, known);
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return memory.reset(keys);
    }

    @Override
    public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
      return memory.liftBans(keys);
    }

    @Override
    public void close() {}
  }
}
