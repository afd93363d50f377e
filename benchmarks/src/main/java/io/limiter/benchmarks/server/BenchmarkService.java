// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.LinkedHashMap;
import java.util.Map;

/** Starts the service. */
public final class BenchmarkService {

  static final String NO_OP = "benchmark.no-op";

  private BenchmarkService() {}

  /** What decides. */
  public enum Script {
    /** The limiter's own script. */
    DECISION,
    /**
     * A script that does nothing, and answers what the limiter's would to a caller who has not
     * called yet: what is left is the price of the way to Redis and back.
     */
    NO_OP
  }

  /**
   * Returns when it listens.
   *
   * @param redis where to count, such as {@code redis://localhost}
   * @param keyPrefix of all keys
   * @param settings in place of the service's own
   */
  public static EmbeddedServer start(
      String redis, String keyPrefix, Script script, Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put(NO_OP, script == Script.NO_OP);
    all.put("redis.uri", redis);
    all.put("limiter.redis.key-prefix", keyPrefix);
    all.putAll(settings);
    return ApplicationContext.run(EmbeddedServer.class, all);
  }
}
