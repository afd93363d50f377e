// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.micronaut.runtime.Micronaut;
import java.util.Map;
import java.util.Optional;

/**
 * Starts the demo. It counts in the Redis that the environment variable {@code REDIS_URI} names;
 * without one it brings its own.
 */
public final class DemoApplication {

  private DemoApplication() {}

  public static void main(String[] args) {
    Optional<String> own =
        System.getenv("REDIS_URI") == null ? EmbeddedRedis.start() : Optional.empty();
    Map<String, Object> redis =
        own.<Map<String, Object>>map(uri -> Map.of("redis.uri", uri)).orElse(Map.of());
    Micronaut.build(args).mainClass(DemoApplication.class).properties(redis).start();
  }
}
