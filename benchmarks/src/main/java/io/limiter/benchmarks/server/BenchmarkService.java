// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.LinkedHashMap;
import java.util.Map;

/** Starts the service. */
public final class BenchmarkService {

  /** Whether Redis runs {@link Script#NO_OP}. Without this property none of the beans exists. */
  public static final String NO_OP = "benchmark.no-op";

  private BenchmarkService() {}

  /** The script that decides. */
  public enum Script {
    /** The limiter's own script. */
    DECISION,
    /**
     * A script that does nothing, and replies like the limiter's to a new caller: what remains is
     * the cost of the round trip to Redis.
     */
    NO_OP
  }

  /**
   * Returns when it listens.
   *
   * @param redis where to count, such as {@code redis://localhost}
   * @param keyPrefix of all keys
   * @param settings that replace those of the service
   */
  public static EmbeddedServer start(
      String redis, String keyPrefix, Script script, Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put(NO_OP, script == Script.NO_OP);
    all.put("redis.uri", redis);
    all.put("limiter.redis.key-prefix", keyPrefix);
    all.put("limiter.policies.denied-uncached.deny-cache", false);
    all.putAll(settings);
    return ApplicationContext.run(EmbeddedServer.class, all);
  }
}
