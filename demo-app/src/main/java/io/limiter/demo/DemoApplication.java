// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.micronaut.context.ApplicationContextBuilder;
import io.micronaut.runtime.Micronaut;
import java.util.Map;
import java.util.Optional;

/**
 * Starts the demo. It counts in the Redis that the environment variable {@code REDIS_URI} names;
 * without the variable it uses its own, which is not started yet if {@code DEMO_REDIS} is {@code
 * down}.
 */
public final class DemoApplication {

  private DemoApplication() {}

  public static void main(String[] args) {
    ApplicationContextBuilder demo = Micronaut.build(args).mainClass(DemoApplication.class);
    if (System.getenv("REDIS_URI") == null) {
      ownRedis(Optional.ofNullable(System.getenv("DEMO_REDIS")))
          .ifPresent(redis -> demo.singletons(redis).properties(Map.of("redis.uri", redis.uri())));
    }
    demo.start();
  }

  /** The demo's own Redis; empty if it cannot run here. */
  static Optional<EmbeddedRedis> ownRedis(Optional<String> wanted) {
    if (wanted.isEmpty()) {
      return EmbeddedRedis.started();
    }
    if (!wanted.get().equals("down")) {
      throw new IllegalArgumentException(
          "DEMO_REDIS = %s: set it to down to start without Redis, or leave it out"
              .formatted(wanted.get()));
    }
    return Optional.of(EmbeddedRedis.down());
  }
}
