// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.LimitStore;
import io.limiter.core.denycache.DenyCache;
import io.limiter.core.redis.TestRedis;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.slf4j.LoggerFactory;

/** A service with keys in Redis that no other test uses. */
final class IdempotentService extends HttpService {

  static {
    // It reports what tests make routes throw.
    ((Logger) LoggerFactory.getLogger("io.micronaut.http.server.RouteExecutor"))
        .setLevel(Level.OFF);
  }

  private final String prefix;

  private IdempotentService(EmbeddedServer server, String prefix) {
    super(server);
    this.prefix = prefix;
  }

  /**
   * @param specification the {@code spec.name} that its beans require
   */
  public static IdempotentService start(String specification, Map<String, Object> settings) {
    return start(specification, newPrefix(), settings);
  }

  /** One of several instances, which share the keys with this prefix. */
  static IdempotentService start(
      String specification, String prefix, Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("redis.uri", RedisFixture.uri());
    all.put("limiter.redis.key-prefix", prefix);
    // On a busy machine the default could end a decision.
    all.put("limiter.redis.deadline", "10s");
    all.put("limiter.redis.start-timeout", "10s");
    // Whatever the language of the machine.
    all.put("micronaut.server.locale-resolution.default-locale", "en");
    all.putAll(settings);
    return new IdempotentService(run(specification, all), prefix);
  }

  static String newPrefix() {
    return "test:" + UUID.randomUUID().toString().substring(0, 8) + ":";
  }

  /** Removes all keys of the limiter, and empties the deny cache. */
  void clear() {
    RedisClient client = RedisClient.create(RedisFixture.uri());
    try (StatefulRedisConnection<byte[], byte[]> connection =
        client.connect(ByteArrayCodec.INSTANCE)) {
      TestRedis.keys(connection.sync(), prefix + "*").forEach(connection.sync()::del);
    } finally {
      client.shutdown();
    }
    if (bean(LimitStore.class) instanceof DenyCache cache) {
      cache.clear();
    }
  }
}
