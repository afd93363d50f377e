// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.LimitStore;
import io.limiter.core.Limiter;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.RedisHealth;
import io.limiter.core.redis.RedisHealth.NodeListener;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.micronaut.config.RedisConfiguration;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.Environment;
import io.micronaut.context.exceptions.ConfigurationException;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Provides the store, see {@link StoreChain}. Your own store can replace a bean of this factory.
 */
@Factory
public final class LimitStoreFactory {

  private static final Logger LOG = LoggerFactory.getLogger(LimitStoreFactory.class);

  /** The named connections of micronaut-redis. */
  private static final String SERVERS = "redis.servers";

  // By name, since Lettuce is optional.
  private static final String LETTUCE = "io.lettuce.core.RedisURI";

  @Singleton
  @Bean(preDestroy = "close")
  @Requires(beans = ConnectionSource.class)
  RedisStoreHolder redisStore(
      ConnectionSource connections, RedisSettings settings, List<NodeListener> listeners) {
    return new RedisStoreHolder(new RedisStore(connections, settings, listeners));
  }

  /** Reports whether Redis answers. */
  @Singleton
  @Requires(beans = ConnectionSource.class)
  RedisHealth redisHealth(RedisStoreHolder redis) {
    return redis.store().health();
  }

  /** Runs scripts of other modules in the Redis of the limits. */
  @Singleton
  @Requires(beans = ConnectionSource.class)
  RedisScripts redisScripts(RedisStoreHolder redis) {
    return redis.store().scripts();
  }

  @Singleton
  @Bean(preDestroy = "close")
  @Requires(beans = ConnectionSource.class)
  LimitStore redis(StoreChain chain, RedisStoreHolder redis) {
    return chain.overRedis(redis.store());
  }

  /**
   * A memory store, which is not closed with its context: the server still serves for a moment, and
   * its pending calls must be decided. The store holds no resources except memory.
   */
  @Singleton
  @Requires(missingBeans = ConnectionSource.class)
  LimitStore memory(StoreChain chain, RedisConfiguration redis, Environment environment) {
    if (redis.enabled()) {
      requireClient(environment);
    }
    LOG.warn(
        "{}: each instance of this service counts separately{}{}",
        redis.enabled()
            ? "Neither redis.uri nor redis.uris is set"
            : "limiter.redis.enabled is false",
        redis.enabled() && environment.containsProperties(SERVERS)
            ? ". The limiter does not use the servers under " + SERVERS
            : "",
        unreadFile(environment).orElse(""));
    return chain.inMemory();
  }

  /** Micronaut leaves out a file that it cannot read, without a word. */
  private static Optional<String> unreadFile(Environment environment) {
    return environment.isPresent("org.yaml.snakeyaml.Yaml")
        ? Optional.empty()
        : Stream.of("application.yml", "application.yaml")
            .filter(file -> environment.getClassLoader().getResource(file) != null)
            .findFirst()
            .map(
                ". %s is not read: add the dependency org.yaml:snakeyaml, or write application.properties"
                    ::formatted);
  }

  /** Without a client for a configured Redis, each instance would silently count separately. */
  private static void requireClient(Environment environment) {
    if (environment.isPresent(LETTUCE)) {
      return;
    }
    for (String uri : List.of("redis.uri", "redis.uris")) {
      if (environment.containsProperties(uri)) {
        throw new ConfigurationException(
            "%s is set, but there is no Redis client: add the dependency io.lettuce:lettuce-core, or remove the setting, so that each instance counts separately"
                .formatted(uri));
      }
    }
  }

  @Singleton
  Limiter limiter(LimitStore store) {
    return new Limiter(store);
  }
}
