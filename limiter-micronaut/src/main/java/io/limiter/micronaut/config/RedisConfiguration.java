// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisSettings.KeySecret;
import io.limiter.core.redis.RedisSettings.PolicyDeadlines;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;
import java.util.Optional;

/** Settings for the Redis that {@code redis.uri} or {@code redis.uris} names. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(RedisConfiguration.PREFIX)
public final class RedisConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".redis";

  /** Longest {@code warm-up}. */
  public static final Duration MAX_WARM_UP = Duration.ofMinutes(1);

  private boolean enabled = true;
  private Duration deadline = RedisSettings.DEFAULT_DEADLINE;
  private Optional<Duration> hardDeadline = Optional.empty();
  private String keyPrefix = RedisSettings.DEFAULT_PREFIX;
  private Optional<KeySecret> keySecret = Optional.empty();
  private Duration warmUp = Duration.ofSeconds(10);
  private Connections connections = Connections.AUTO;
  private int maxConnections = 16;
  private int batchSize = RedisSettings.DEFAULT_BATCH_SIZE;

  /** The connections on which decisions are sent. */
  public enum Connections {
    /** {@link #EVENT_LOOP} where possible; otherwise, and on a Cluster, {@link #SHARED}. */
    AUTO,
    /** One connection on each event loop of the server: a reply does not change threads. */
    EVENT_LOOP,
    /** One connection for all threads; on a Cluster, one to each primary. */
    SHARED
  }

  /** Whether the limiter counts in Redis if {@code redis.uri} or {@code redis.uris} is set. */
  public boolean isEnabled() {
    return enabled;
  }

  /**
   * Default value true. If false, the limiter counts in memory and opens no connection, whatever
   * else uses Redis.
   *
   * @throws ConfigurationException if the word means neither true nor false
   */
  public void setEnabled(String enabled) {
    this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /**
   * Time limit for a decision by Redis; after it the fallback decides. Only time in which the
   * connection's event loop runs is counted.
   */
  public Duration getDeadline() {
    return deadline;
  }

  /** Default value 100 ms; 1 ms to 10 s. */
  public void setDeadline(Duration deadline) {
    this.deadline = deadline;
  }

  /** Time after which the fallback decides even if this process causes the delay. */
  public Optional<Duration> getHardDeadline() {
    return hardDeadline;
  }

  /**
   * Default value 2 s, or twice the decision's deadline if that is more; from the longest deadline
   * to 1 minute.
   */
  public void setHardDeadline(Duration hardDeadline) {
    this.hardDeadline = Optional.of(hardDeadline);
  }

  /** Prefix of every key. */
  public String getKeyPrefix() {
    return keyPrefix;
  }

  /**
   * Default value {@code limiter:}; services that share Redis but not their limits need different
   * prefixes.
   */
  public void setKeyPrefix(String keyPrefix) {
    this.keyPrefix = keyPrefix;
  }

  /**
   * Secret from which the names of keys are derived, so that a reader of the keys cannot test
   * guesses of subjects. It must be the same for all instances. None by default; 16 characters or
   * more. No bean exposes it, and no message contains it.
   */
  public void setKeySecret(String keySecret) {
    try {
      this.keySecret = Optional.of(KeySecret.of(keySecret));
    } catch (IllegalArgumentException e) {
      throw new ConfigurationException("limiter.redis.key-secret: " + e.getMessage(), e);
    }
  }

  /**
   * The longest time for which the start waits for the warm-up of connections and event loops. It
   * does not wait for a Redis that is down. Zero disables the warm-up of event loops.
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

  /** The connections on which decisions are sent. */
  public Connections connections() {
    return connections;
  }

  /** Default value {@code auto}; or {@code event-loop}, or {@code shared}. */
  public void setConnections(String connections) {
    this.connections = EnumSetting.of(Connections.class, PREFIX + ".connections", connections);
  }

  /**
   * Maximum number of connections; further event loops of the server share those of the first ones.
   */
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
   * The most decisions that are sent to Redis as one command, if they meet on one event loop. None
   * waits for others. On a Cluster only those of one slot share a command.
   */
  public int getBatchSize() {
    return batchSize;
  }

  /** Default value 16; 1 to 16. With 1 each decision is sent alone. */
  public void setBatchSize(int batchSize) {
    this.batchSize = batchSize;
  }

  /**
   * These settings in the form that the store takes.
   *
   * @param policyDeadlines the deadlines of policies with their own setting
   * @throws ConfigurationException naming the property, its value and the remedy
   */
  public RedisSettings settings(PolicyDeadlines policyDeadlines) {
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
    try {
      settings = settings.withBatchSize(batchSize);
    } catch (IllegalArgumentException e) {
      throw new ConfigurationException(
          "limiter.redis.batch-size = %d: %s".formatted(batchSize, e.getMessage()), e);
    }
    return keySecret.map(settings::withKeySecret).orElse(settings);
  }

  /** Settings of the hash in Redis by which all instances change the numbers of their policies. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("shared-settings")
  public static final class SharedSettingsConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = RedisConfiguration.PREFIX + ".shared-settings";

    /** Default of {@code limiter.redis.shared-settings.interval}. */
    public static final Duration DEFAULT_INTERVAL = Duration.ofSeconds(5);

    private static final Duration MIN_INTERVAL = Duration.ofMillis(100);
    private static final Duration MAX_INTERVAL = Duration.ofHours(1);

    private boolean enabled;
    private Duration interval = DEFAULT_INTERVAL;

    /** Whether the hash is read. */
    public boolean reads() {
      return enabled;
    }

    /** Default value false. The Redis user needs the commands {@code HGETALL} and {@code HLEN}. */
    public void setEnabled(String enabled) {
      this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
    }

    /** The time between two reads of the hash. */
    public Duration getInterval() {
      return interval;
    }

    /** Default value 5 s; 100 ms to 1 hour. A change takes effect after this time at most. */
    public void setInterval(Duration interval) {
      if (interval.compareTo(MIN_INTERVAL) < 0 || interval.compareTo(MAX_INTERVAL) > 0) {
        throw new ConfigurationException(
            "%s.interval = %d ms: give it 100 ms to 1 h".formatted(PREFIX, interval.toMillis()));
      }
      this.interval = interval;
    }
  }
}
