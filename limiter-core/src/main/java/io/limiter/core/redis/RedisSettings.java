// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Key;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * How the store uses Redis.
 *
 * @param prefix put before every key, up to 32 letters, digits and {@code :._-}; services that
 *     share a Redis but not their limits need different ones; {@value #DEFAULT_PREFIX} by default
 * @param deadline time after which a command that has not been answered is ended and the store
 *     gives up, 1 ms to 10 s; 100 ms by default
 */
public record RedisSettings(String prefix, Duration deadline) {

  public static final String DEFAULT_PREFIX = "limiter:";
  public static final Duration DEFAULT_DEADLINE = Duration.ofMillis(100);

  public RedisSettings {
    if (!prefix.matches("[A-Za-z0-9:._-]{0,32}")) {
      throw new IllegalArgumentException(
          "The key prefix '%s' is not usable: give it up to 32 letters, digits and :._-"
              .formatted(prefix));
    }
    if (deadline.compareTo(Duration.ofMillis(1)) < 0
        || deadline.compareTo(Duration.ofSeconds(10)) > 0) {
      throw new IllegalArgumentException(
          "The Redis deadline %s is not usable: give it 1 ms to 10 s".formatted(deadline));
    }
  }

  /** The name of a key in Redis: within its braces the part that names its slot in a Cluster. */
  byte[] name(Key key) {
    return (prefix + '{' + key.tag() + "}:" + key.name()).getBytes(StandardCharsets.US_ASCII);
  }

  public static RedisSettings defaults() {
    return new RedisSettings(DEFAULT_PREFIX, DEFAULT_DEADLINE);
  }
}
