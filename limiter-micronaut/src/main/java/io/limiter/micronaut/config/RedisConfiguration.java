// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisSettings.KeySecret;
import io.limiter.core.redis.RedisSettings.PolicyDeadlines;
import io.micronaut.context.annotation.ConfigurationInject;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.bind.annotation.Bindable;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Settings for the Redis that {@code redis.uri} or {@code redis.uris} names.
 *
 * @param enabled whether the limiter counts in Redis if one is named
 * @param deadline time limit for a decision by Redis
 * @param hardDeadline time after which the fallback decides even if this process causes the delay
 * @param keyPrefix the prefix of every key
 * @param keySecret the secret from which the names of keys are derived
 * @param startTimeout the longest time for which the start waits for connections
 * @param connections the connections on which decisions are sent
 * @param maxConnections maximum number of connections
 * @param batchSize the most decisions that are sent to Redis as one command
 * @param slots whether a command may have keys of several slots
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(RedisConfiguration.PREFIX)
public record RedisConfiguration(
    boolean enabled,
    Duration deadline,
    Optional<Duration> hardDeadline,
    String keyPrefix,
    Optional<KeySecret> keySecret,
    Duration startTimeout,
    Connections connections,
    int maxConnections,
    int batchSize,
    Slots slots) {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".redis";

  /** The connections on which decisions are sent. */
  public enum Connections {
    /** {@link #EVENT_LOOP} where possible; otherwise, and on a Cluster, {@link #SHARED}. */
    AUTO,
    /** One connection on each event loop of the server: a reply does not change threads. */
    EVENT_LOOP,
    /** One connection for all threads; on a Cluster, one to each primary. */
    SHARED
  }

  /** Whether a command may have keys of several slots of a Redis Cluster. */
  public enum Slots {
    /** As the server permits: a Cluster does not, nor does a server that answered CROSSSLOT. */
    AUTO,
    /** No command has, since a proxy stands before a Cluster. */
    PROXY
  }

  public RedisConfiguration {
    Bounds.require(
        PREFIX + ".start-timeout",
        startTimeout,
        Duration.ZERO,
        Duration.ofMinutes(1),
        "0 to 1 minute");
    Bounds.require(PREFIX + ".max-connections", maxConnections, 1, 1_024);
  }

  /**
   * @param enabled Whether the limiter counts in Redis if {@code redis.uri} or {@code redis.uris}
   *     is set. Default value true. If false, the limiter counts in memory and opens no connection,
   *     whatever else uses Redis.
   * @param deadline Time limit for a decision by Redis; after it the fallback decides. Only time in
   *     which the connection's event loop runs is counted. Default value 100 ms; 1 ms to 10 s.
   * @param hardDeadline Time after which the fallback decides even if this process causes the
   *     delay. By default 2 s, or twice the decision's deadline if that is more; from the longest
   *     deadline to 1 minute.
   * @param keyPrefix Prefix of every key. Default value {@code limiter:}; services that share Redis
   *     but not their limits need different prefixes.
   * @param keySecret Secret from which the names of keys are derived, so that a reader of the keys
   *     cannot test guesses of subjects. It must be the same for all instances. None by default; 16
   *     characters or more. No bean exposes it, and no message contains it.
   * @param startTimeout The longest time for which the start waits for connections to Redis. It
   *     does not wait for a Redis that is down. Default value 10 s; 0 to 1 minute.
   * @param connections The connections on which decisions are sent. Default value {@code auto}; or
   *     {@code event-loop}, or {@code shared}.
   * @param maxConnections Maximum number of connections; further event loops of the server share
   *     those of the first ones. Default value 16; 1 to 1,024.
   * @param batchSize The most decisions that are sent to Redis as one command, if they meet on one
   *     event loop. None waits for others. On a Cluster only those of one slot share a command.
   *     Default value 16; 1 to 16. With 1 each decision is sent alone.
   * @param slots Whether a command may have keys of several slots of a Redis Cluster. Default value
   *     {@code auto}: not on a Cluster, and not once the server has answered {@code CROSSSLOT}; or
   *     {@code proxy}: never, for a {@code redis.uri} that names a proxy before a Cluster.
   * @throws ConfigurationException naming the property, its value, unless it is secret, and the
   *     remedy
   */
  @ConfigurationInject
  RedisConfiguration(
      @Bindable(defaultValue = "true") boolean enabled,
      @Bindable(defaultValue = "100ms") Duration deadline,
      @Nullable Duration hardDeadline,
      @Bindable(defaultValue = RedisSettings.DEFAULT_PREFIX) String keyPrefix,
      @Nullable String keySecret,
      @Bindable(defaultValue = "10s") Duration startTimeout,
      @Bindable(defaultValue = "auto") String connections,
      @Bindable(defaultValue = "16") int maxConnections,
      @Bindable(defaultValue = "16") int batchSize,
      @Bindable(defaultValue = "auto") String slots) {
    this(
        enabled,
        deadline,
        Optional.ofNullable(hardDeadline),
        keyPrefix,
        Optional.ofNullable(keySecret)
            .map(secret -> Bounds.accepted(PREFIX + ".key-secret", () -> KeySecret.of(secret))),
        startTimeout,
        EnumSetting.of(Connections.class, PREFIX + ".connections", connections),
        maxConnections,
        batchSize,
        EnumSetting.of(Slots.class, PREFIX + ".slots", slots));
  }

  /** Returns these settings with this prefix of keys. */
  @Internal
  public RedisConfiguration withKeyPrefix(String prefix) {
    return new RedisConfiguration(
        enabled,
        deadline,
        hardDeadline,
        prefix,
        keySecret,
        startTimeout,
        connections,
        maxConnections,
        batchSize,
        slots);
  }

  /**
   * These settings in the form that the store takes.
   *
   * @param policyDeadlines the deadlines of policies with their own setting
   * @throws ConfigurationException naming the property, its value and the remedy
   */
  public RedisSettings settings(PolicyDeadlines policyDeadlines) {
    RedisSettings usual =
        Bounds.accepted(
            "%s.key-prefix = %s, %s.deadline = %s".formatted(PREFIX, keyPrefix, PREFIX, deadline),
            () -> new RedisSettings(keyPrefix, deadline).withPolicyDeadlines(policyDeadlines));
    RedisSettings bounded =
        hardDeadline
            .map(
                hard ->
                    Bounds.accepted(
                        PREFIX + ".hard-deadline = " + hard, () -> usual.withHardDeadline(hard)))
            .orElse(usual);
    RedisSettings batched =
        Bounds.accepted(
            PREFIX + ".batch-size = " + batchSize, () -> bounded.withBatchSize(batchSize));
    RedisSettings settings = slots == Slots.PROXY ? batched.withBySlot() : batched;
    return keySecret.map(settings::withKeySecret).orElse(settings);
  }

  /**
   * How the limiter logs in to the sentinels of {@code redis.uri}, which contains the user and
   * password of Redis only.
   *
   * @param username The user for the sentinels. By default none: a password alone is that of their
   *     {@code requirepass}.
   * @param password The password for the sentinels. By default none: they ask for no password. No
   *     message contains it.
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("sentinel")
  public record SentinelConfiguration(@Nullable String username, @Nullable String password) {

    /** Prefix of these settings. */
    public static final String PREFIX = RedisConfiguration.PREFIX + ".sentinel";

    public SentinelConfiguration {
      if (username != null && password == null) {
        throw new ConfigurationException(
            "%s.username = %s: a user needs a password, so set %s.password too"
                .formatted(PREFIX, username, PREFIX));
      }
    }

    @Override
    public String toString() {
      return PREFIX;
    }
  }

  /**
   * Settings of the hash in Redis by which all instances change the numbers of their policies.
   *
   * @param enabled Whether the hash is read. Default value false. The Redis user needs the commands
   *     {@code HGETALL} and {@code HLEN}.
   * @param interval The time between two reads of the hash. Default value 5 s; 100 ms to 1 hour. A
   *     change takes effect after this time at most.
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("shared-settings")
  public record SharedSettingsConfiguration(
      @Bindable(defaultValue = "false") boolean enabled,
      @Bindable(defaultValue = "5s") Duration interval) {

    /** Prefix of these settings. */
    public static final String PREFIX = RedisConfiguration.PREFIX + ".shared-settings";

    public SharedSettingsConfiguration {
      Bounds.require(
          PREFIX + ".interval",
          interval,
          Duration.ofMillis(100),
          Duration.ofHours(1),
          "100 ms to 1 h");
    }
  }
}
