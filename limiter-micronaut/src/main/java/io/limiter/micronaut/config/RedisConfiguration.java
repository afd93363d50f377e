// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.redis.connection.KeySecret;
import io.limiter.core.redis.connection.RedisSettings;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** How the limiter uses the Redis that {@code redis.uri} or {@code redis.uris} names. */
@Context // a mistake stops the start
@ConfigurationProperties(RedisConfiguration.PREFIX)
public final class RedisConfiguration {

  /** All settings stand under this. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".redis";

  /** Longest {@code warm-up}. */
  public static final Duration MAX_WARM_UP = Duration.ofMinutes(1);

  private Duration deadline = RedisSettings.DEFAULT_DEADLINE;
  private Optional<Duration> hardDeadline = Optional.empty();
  private String keyPrefix = RedisSettings.DEFAULT_PREFIX;
  private Optional<KeySecret> keySecret = Optional.empty();
  private Duration warmUp = Duration.ofSeconds(10);
  private Connections connections = Connections.AUTO;
  private int maxConnections = 16;

  /** Which connections decisions are sent on. */
  public enum Connections {
    /** As {@link #EVENT_LOOP} where that can be, else, and on a Cluster, as {@link #SHARED}. */
    AUTO,
    /** One on each event loop of the server: an answer need not change threads. */
    EVENT_LOOP,
    /** One for all threads; to each primary of a Cluster. */
    SHARED
  }

  /**
   * Time that Redis has for a decision; then the fallback decides. Only time counts in which the
   * event loop of the connection runs.
   */
  public Duration getDeadline() {
    return deadline;
  }

  /** Default value 100 ms; 1 ms to 10 s. */
  public void setDeadline(Duration deadline) {
    this.deadline = deadline;
  }

  /** Time after which the fallback decides even if this process is what is late. */
  public Optional<Duration> getHardDeadline() {
    return hardDeadline;
  }

  /**
   * Default value 2 s, or twice the decision's deadline if that is more; the longest deadline to 1
   * minute.
   */
  public void setHardDeadline(Duration hardDeadline) {
    this.hardDeadline = Optional.of(hardDeadline);
  }

  /** What every key begins with. */
  public String getKeyPrefix() {
    return keyPrefix;
  }

  /**
   * Default value {@code limiter:}; services that share a Redis, but no limits, need different
   * ones.
   */
  public void setKeyPrefix(String keyPrefix) {
    this.keyPrefix = keyPrefix;
  }

  /**
   * What the names of keys are made with, so that nobody who reads them can test guesses of who was
   * counted: the same for all instances. None by default; 16 characters or more. Nothing that can
   * be asked has it, and no message tells it.
   */
  public void setKeySecret(String keySecret) {
    try {
      this.keySecret = Optional.of(KeySecret.of(keySecret));
    } catch (IllegalArgumentException e) {
      throw new ConfigurationException("limiter.redis.key-secret: " + e.getMessage(), e);
    }
  }

  /**
   * The longest that the start waits until connections and event loops are warm. If Redis is down,
   * it does not wait for that. Zero switches the warm-up of event loops off.
   */
  public Duration getWarmUp() {
    return warmUp;
  }

  /** Default value 10 s; 0 to 1 minute. */
  public void setWarmUp(Duration warmUp) {
    if (warmUp.isNegative() || warmUp.compareTo(MAX_WARM_UP) > 0) {
      throw new ConfigurationException(
          "limiter.redis.warm-up = %s: give it 0 to 1 minute".formatted(warmUp));
    }
    this.warmUp = warmUp;
  }

  /** Which connections decisions are sent on. */
  public Connections connections() {
    return connections;
  }

  /** Default value {@code auto}; or {@code event-loop}, or {@code shared}. */
  public void setConnections(String connections) {
    this.connections = EnumSetting.of(Connections.class, PREFIX + ".connections", connections);
  }

  /** The most connections; the server's other event loops use those of its first. */
  public int getMaxConnections() {
    return maxConnections;
  }

  /** Default value 16; 1 to 1,024. */
  public void setMaxConnections(int maxConnections) {
    if (maxConnections < 1 || maxConnections > 1_024) {
      throw new ConfigurationException(
          "limiter.redis.max-connections = %d: give it 1 to 1024".formatted(maxConnections));
    }
    this.maxConnections = maxConnections;
  }

  /**
   * These settings as the store wants them.
   *
   * @param policyDeadlines the deadlines of policies that have one of their own, by name
   * @throws ConfigurationException naming the property, its value and the remedy
   */
  public RedisSettings settings(Map<String, Duration> policyDeadlines) {
    RedisSettings settings;
    try {
      settings = new RedisSettings(keyPrefix, deadline).withPolicyDeadlines(policyDeadlines);
    } catch (IllegalArgumentException e) {
      throw new ConfigurationException(
          "limiter.redis.key-prefix = %s, limiter.redis.deadline = %s: %s"
              .formatted(keyPrefix, deadline, e.getMessage()),
          e);
    }
    if (hardDeadline.isPresent()) {
      try {
        settings = settings.withHardDeadline(hardDeadline.get());
      } catch (IllegalArgumentException e) {
        throw new ConfigurationException(
            "limiter.redis.hard-deadline = %s: %s".formatted(hardDeadline.get(), e.getMessage()),
            e);
      }
    }
    return keySecret.map(settings::withKeySecret).orElse(settings);
  }
}
