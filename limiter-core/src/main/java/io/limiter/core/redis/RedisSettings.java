// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.CustomAlgorithm;
import io.limiter.core.Key;
import io.limiter.core.Policy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How the store uses Redis.
 *
 * @param prefix put before every key, up to 32 letters, digits and {@code :._-}; services that
 *     share a Redis but not their limits need different ones; {@value #DEFAULT_PREFIX} by default
 * @param deadline time after which a command that has not been answered is ended and the store
 *     gives up, 1 ms to 10 s; 100 ms by default
 * @param policyDeadlines the same for decisions under some policies, by name
 * @param algorithms those of the user's own that rules may be of: the scripts then know them
 * @param keySecret what the names of keys are made with; if empty, who can read Redis can test
 *     guesses of who was counted
 */
public record RedisSettings(
    String prefix,
    Duration deadline,
    Map<String, Duration> policyDeadlines,
    List<CustomAlgorithm> algorithms,
    Optional<KeySecret> keySecret) {

  public static final String DEFAULT_PREFIX = "limiter:";
  public static final Duration DEFAULT_DEADLINE = Duration.ofMillis(100);
  public static final Duration MIN_DEADLINE = Duration.ofMillis(1);
  public static final Duration MAX_DEADLINE = Duration.ofSeconds(10);

  public RedisSettings {
    if (!prefix.matches("[A-Za-z0-9:._-]{0,32}")) {
      throw new IllegalArgumentException(
          "The key prefix '%s' is not usable: give it up to 32 letters, digits and :._-"
              .formatted(prefix));
    }
    policyDeadlines = Map.copyOf(policyDeadlines);
    algorithms = List.copyOf(algorithms);
    requireDeadline("Redis deadline", deadline);
    policyDeadlines.forEach(
        (policy, own) -> requireDeadline("Redis deadline of the policy '" + policy + "',", own));
  }

  /** Settings with one deadline for all. */
  public RedisSettings(String prefix, Duration deadline) {
    this(prefix, deadline, Map.of(), List.of(), Optional.empty());
  }

  private static void requireDeadline(String what, Duration deadline) {
    if (deadline.compareTo(MIN_DEADLINE) < 0 || deadline.compareTo(MAX_DEADLINE) > 0) {
      throw new IllegalArgumentException(
          "The %s %s is not usable: give it 1 ms to 10 s".formatted(what, deadline));
    }
  }

  /** The same settings with deadlines of their own for these policies. */
  public RedisSettings withPolicyDeadlines(Map<String, Duration> deadlines) {
    return new RedisSettings(prefix, deadline, deadlines, algorithms, keySecret);
  }

  /** The same settings with these algorithms of the user's own. */
  public RedisSettings withAlgorithms(List<CustomAlgorithm> own) {
    return new RedisSettings(prefix, deadline, policyDeadlines, own, keySecret);
  }

  /**
   * The same settings with this secret. Keys that were written with another, or without, are not
   * found any more, so all limits begin anew.
   */
  public RedisSettings withKeySecret(KeySecret secret) {
    return new RedisSettings(prefix, deadline, policyDeadlines, algorithms, Optional.of(secret));
  }

  Duration deadline(Policy policy) {
    Duration own = policyDeadlines.get(policy.name());
    return own == null ? deadline : own;
  }

  /** The name of a key in Redis: within its braces the part that names its slot in a Cluster. */
  byte[] name(Key key) {
    String tag = key.tag();
    String own = key.name();
    if (keySecret.isPresent()) {
      tag = keySecret.get().tag(key);
      own = keySecret.get().name(key);
    }
    return (prefix + '{' + tag + "}:" + own).getBytes(StandardCharsets.US_ASCII);
  }

  public static RedisSettings defaults() {
    return new RedisSettings(DEFAULT_PREFIX, DEFAULT_DEADLINE);
  }
}
