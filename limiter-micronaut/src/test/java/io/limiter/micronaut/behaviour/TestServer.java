// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.limiter.core.LimitStore;
import io.limiter.core.denycache.DenyCache;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.slf4j.LoggerFactory;

/** A service that counts in Redis, with keys that no other test uses. */
final class TestServer extends HttpService {

  static {
    // They report what tests make routes and sockets throw, and that a client left when its server
    // did.
    ((Logger) LoggerFactory.getLogger("io.micronaut.http.server.RouteExecutor"))
        .setLevel(Level.OFF);
    ((Logger) LoggerFactory.getLogger("io.micronaut.http.server.netty.websocket"))
        .setLevel(Level.OFF);
    ((Logger) LoggerFactory.getLogger("io.netty.util.concurrent.DefaultPromise.rejectedExecution"))
        .setLevel(Level.OFF);
  }

  private final RedisKeys keys;

  private TestServer(EmbeddedServer server, RedisKeys keys) {
    super(server);
    this.keys = keys;
  }

  static TestServer start(String specification) {
    return start(specification, Map.of());
  }

  /**
   * @param specification the {@code spec.name} that its beans require
   */
  public static TestServer start(String specification, Map<String, Object> settings) {
    String prefix = "test:" + UUID.randomUUID().toString().substring(0, 8) + ":";
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("redis.uri", RedisFixture.uri());
    all.put("limiter.redis.key-prefix", prefix);
    // On a busy machine the default could end a decision, and memory would count it.
    all.put("limiter.redis.deadline", "10s");
    all.put("limiter.redis.start-timeout", "10s");
    // Whatever the language of the machine.
    all.put("micronaut.server.locale-resolution.default-locale", "en");
    all.putAll(settings);
    EmbeddedServer server = run(specification, all);
    RedisKeys keys = new RedisKeys(prefix);
    keys.clear(); // by which connections were tried, for two seconds
    return new TestServer(server, keys);
  }

  @Override
  public TestServer onNewConnection() {
    return new TestServer(bean(EmbeddedServer.class), keys);
  }

  /** What the limiter has in Redis. */
  RedisKeys keys() {
    return keys;
  }

  /** Deletes all that was counted, and empties the deny cache. */
  void clear() {
    keys.clear();
    if (bean(LimitStore.class) instanceof DenyCache cache) {
      cache.clear();
    }
  }

  @Override
  public void close() {
    super.close();
    keys.close();
  }
}
