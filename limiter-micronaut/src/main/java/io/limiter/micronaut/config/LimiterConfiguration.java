// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.resilience.DenyCache;
import io.limiter.core.resilience.Fallback;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.micronaut.annotation.Anonymous;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** Settings of the limiter as a whole. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(LimiterConfiguration.PREFIX)
public final class LimiterConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = "limiter";

  /** Default of {@code limiter.max-count}. */
  public static final long DEFAULT_MAX_COUNT = 10_000;

  private long maxCount = DEFAULT_MAX_COUNT;
  private Anonymous anonymous = Anonymous.ADDRESS;
  private Fallback fallback = Fallback.LOCAL;
  private ZoneId zone = ZoneOffset.UTC;

  /**
   * Default value true. If false, this bean and the rest of the limiter are absent.
   *
   * @throws ConfigurationException if the word means neither true nor false
   */
  public void setEnabled(String enabled) {
    var unused = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /**
   * The largest count of an exact log, which takes about 8 bytes a unit for each subject. Other
   * algorithms store a few numbers and are not bounded by it.
   */
  public long getMaxCount() {
    return maxCount;
  }

  /** Default value 10,000; 1 to 1,000,000. */
  public void setMaxCount(long maxCount) {
    if (maxCount < 1 || maxCount > SlidingWindowLog.MAX_COUNT) {
      throw new ConfigurationException(
          "limiter.max-count = %d: give it 1 to %d"
              .formatted(maxCount, SlidingWindowLog.MAX_COUNT));
    }
    this.maxCount = maxCount;
  }

  /**
   * How calls are limited for which a limit by user, header or resolver has no subject, unless its
   * annotation specifies it.
   */
  public Anonymous anonymous() {
    return anonymous;
  }

  /** Default value {@code address}; or {@code reject}. */
  public void setAnonymous(String anonymous) {
    this.anonymous = EnumSetting.of(Anonymous.class, PREFIX + ".anonymous", anonymous);
  }

  /** Who decides while Redis does not answer, where a policy has no fallback of its own. */
  public Fallback fallback() {
    return fallback;
  }

  /**
   * Default value {@code local}; or {@code allow}, or {@code deny}: 503 over HTTP. Without Redis
   * there is no fallback: memory always decides.
   */
  public void setFallback(String fallback) {
    this.fallback = EnumSetting.of(Fallback.class, PREFIX + ".fallback", fallback);
  }

  /** The time zone of aligned windows, unless the rule specifies it. */
  public ZoneId zone() {
    return zone;
  }

  /** Default value {@code UTC}; or a zone such as {@code Europe/Berlin}. */
  public void setZone(String zone) {
    try {
      this.zone = ZoneId.of(zone);
    } catch (DateTimeException unknown) {
      throw new ConfigurationException(
          "limiter.zone = %s: there is no such time zone: write one such as UTC or Europe/Berlin"
              .formatted(zone));
    }
  }

  /** Settings of the gate, which decides requests before their bodies are read. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("gate")
  public static final class GateConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".gate";

    private boolean enabled = true;

    /** Whether the gate decides. Without it, the guard decides all calls. */
    public boolean decides() {
      return enabled;
    }

    /** Default value true. */
    public void setEnabled(String enabled) {
      this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
    }
  }

  /**
   * Settings of the header fields that report the state of a limit. {@code Cache-Control: no-store}
   * on denials is not optional: it is always sent.
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("headers")
  public static final class HeadersConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".headers";

    private boolean enabled = true;
    private boolean retryAfter = true;
    private Legacy legacy = Legacy.OFF;
    private boolean debug;

    /** The form of {@code X-RateLimit-Reset}, about which services disagree. */
    public enum Legacy {
      /** No {@code X-RateLimit} fields. */
      OFF,
      /** Seconds from now. */
      SECONDS,
      /** Seconds since 1970, by the clock of this service. */
      EPOCH
    }

    /** Whether {@code RateLimit-Policy} and {@code RateLimit} are sent. */
    public boolean rateLimit() {
      return enabled;
    }

    /** Default value true. */
    public void setEnabled(String enabled) {
      this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
    }

    /** Whether {@code Retry-After} is sent. */
    public boolean retryAfter() {
      return retryAfter;
    }

    /** Default value true. */
    public void setRetryAfter(String retryAfter) {
      this.retryAfter = EnumSetting.isOn(PREFIX + ".retry-after", retryAfter);
    }

    /**
     * Whether and how {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset} are sent.
     */
    public Legacy legacy() {
      return legacy;
    }

    /** Default value {@code off}; or {@code seconds}, or {@code epoch}. */
    public void setXRateLimit(String form) {
      // In YAML an unquoted off is a boolean.
      this.legacy =
          form.equalsIgnoreCase("false")
              ? Legacy.OFF
              : EnumSetting.of(Legacy.class, PREFIX + ".x-rate-limit", form);
    }

    /** Whether {@code X-Decided-By} is sent. */
    public boolean debug() {
      return debug;
    }

    /**
     * Default value false. Whether limited responses have {@code X-Decided-By}: {@code STORE},
     * {@code DENY_CACHE}, {@code FALLBACK} with the reason, or {@code NONE}. It shows clients when
     * Redis is away.
     */
    public void setDebug(String debug) {
      this.debug = EnumSetting.isOn(PREFIX + ".debug", debug);
    }
  }

  /**
   * Settings of the deny cache: a subject that is denied until a known time is denied until then
   * without a call to Redis, except for an occasional check. Without Redis there is no such cache.
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("deny-cache")
  public static final class DenyCacheConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".deny-cache";

    private boolean enabled = true;
    private int maxSize = DenyCache.DEFAULT_SIZE;
    private Duration maxAge = DenyCache.MAX_AGE;

    /** Whether denials are cached. */
    public boolean enabled() {
      return enabled;
    }

    /** Default value true. {@code limiter.policies.<name>.deny-cache} excludes a single policy. */
    public void setEnabled(String enabled) {
      this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
    }

    /** Maximum number of cached denials. */
    public int getMaxSize() {
      return maxSize;
    }

    /** Default value 10,000; 1 to 100,000, about one kilobyte each. Redis decides further calls. */
    public void setMaxSize(int maxSize) {
      if (maxSize < 1 || maxSize > DenyCache.MAX_SIZE) {
        throw new ConfigurationException(
            "%s.max-size = %d: give it 1 to %d, or set %s.enabled = false"
                .formatted(PREFIX, maxSize, DenyCache.MAX_SIZE, PREFIX));
      }
      this.maxSize = maxSize;
    }

    /** The longest time for which the cache may deny calls that Redis would admit again. */
    public Duration getMaxAge() {
      return maxAge;
    }

    /**
     * Default value 1 s, which is also the maximum; more than 0. After that time one call is
     * checked with Redis.
     */
    public void setMaxAge(Duration maxAge) {
      if (maxAge.isNegative() || maxAge.isZero() || maxAge.compareTo(DenyCache.MAX_AGE) > 0) {
        throw new ConfigurationException(
            "%s.max-age = %s: give it more than 0 and 1s at most, or set %s.enabled = false"
                .formatted(PREFIX, maxAge, PREFIX));
      }
      this.maxAge = maxAge;
    }
  }

  /**
   * Settings of the memory store, which decides while Redis does not answer, or always where no
   * {@code redis.uri} is set.
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("memory")
  public static final class MemoryConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".memory";

    private int maxSubjects = 100_000;
    private int instances = 1;

    /** Maximum number of subjects that are stored at the same time. */
    public int getMaxSubjects() {
      return maxSubjects;
    }

    /** Default value 100,000; 1 or more. Further subjects share what is left of a limit. */
    public void setMaxSubjects(int maxSubjects) {
      if (maxSubjects < 1) {
        throw new ConfigurationException(
            "%s.max-subjects = %d: give it 1 or more".formatted(PREFIX, maxSubjects));
      }
      this.maxSubjects = maxSubjects;
    }

    /** Number of instances of the service, which share a limit wherever memory decides. */
    public int getInstances() {
      return instances;
    }

    /**
     * Default value 1, which gives every instance the whole limit. With more, each instance has the
     * count divided by their number, rounded up.
     */
    public void setInstances(int instances) {
      if (instances < 1) {
        throw new ConfigurationException(
            "%s.instances = %d: give it 1 or more".formatted(PREFIX, instances));
      }
      this.instances = instances;
    }
  }

  /** Settings of the limits that single subjects have for a time. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("overrides")
  public static final class OverridesConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".overrides";

    /** Default of {@code limiter.overrides.interval}. */
    public static final Duration DEFAULT_INTERVAL = Duration.ofSeconds(2);

    private static final Duration MIN_INTERVAL = Duration.ofMillis(100);
    private static final Duration MAX_INTERVAL = Duration.ofSeconds(5);

    private boolean enabled;
    private Duration interval = DEFAULT_INTERVAL;

    /** Whether overrides hold. */
    public boolean enabled() {
      return enabled;
    }

    /**
     * Default value false. Set it on all instances: one without it has the usual limits. The Redis
     * user needs the commands {@code HGETALL}, {@code HLEN}, {@code HSET}, {@code HDEL} and {@code
     * PEXPIREAT}.
     */
    public void setEnabled(String enabled) {
      this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
    }

    /** The time between two reads of what other instances have changed. */
    public Duration getInterval() {
      return interval;
    }

    /** Default value 2 s; 100 ms to 5 s. An override holds on all instances after this time. */
    public void setInterval(Duration interval) {
      if (interval.compareTo(MIN_INTERVAL) < 0 || interval.compareTo(MAX_INTERVAL) > 0) {
        throw new ConfigurationException(
            "%s.interval = %d ms: give it 100 ms to 5 s".formatted(PREFIX, interval.toMillis()));
      }
      this.interval = interval;
    }
  }

  /** Settings of the application events of the limiter. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("events")
  public static final class EventsConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".events";

    private static final int MAX_QUEUE_SIZE = 100_000;

    private int queueSize = 1_024;

    /** Maximum number of events that wait for their listeners. */
    public int getQueueSize() {
      return queueSize;
    }

    /** Default value 1,024; 1 to 100,000. Further events are dropped and counted. */
    public void setQueueSize(int queueSize) {
      if (queueSize < 1 || queueSize > MAX_QUEUE_SIZE) {
        throw new ConfigurationException(
            "%s.queue-size = %d: give it 1 to %d".formatted(PREFIX, queueSize, MAX_QUEUE_SIZE));
      }
      this.queueSize = queueSize;
    }
  }

  /** Settings of the meters and the span attributes of the limiter. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("metrics")
  public static final class MetricsConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".metrics";

    /** Default value true. If false, the limiter has no meters and writes no span attributes. */
    public void setEnabled(String enabled) {
      var unused = EnumSetting.isOn(PREFIX + ".enabled", enabled);
    }
  }

  /** Settings of the limiter's part of the health endpoint of micronaut-management. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("health")
  public static final class HealthConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".health";

    private boolean required;

    /**
     * Default value true. If false, the limiter has no health indicator, and that of
     * micronaut-redis is unchanged.
     */
    public void setEnabled(String enabled) {
      var unused = EnumSetting.isOn(PREFIX + ".enabled", enabled);
    }

    /** Whether the limiter reports DOWN while Redis is away, although memory decides then. */
    public boolean isRedisRequired() {
      return required;
    }

    /** Default value false. */
    public void setRequired(String required) {
      this.required = EnumSetting.isOn(PREFIX + ".required", required);
    }
  }

  /** Settings of the endpoint {@code limits} of micronaut-management. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("management")
  public static final class ManagementConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".management";

    private boolean showSubjects;

    /** Whether the endpoint shows subjects in clear beside their digests. */
    public boolean isShowSubjects() {
      return showSubjects;
    }

    /**
     * Default value false. If true, the endpoint, its audit events and its audit lines contain
     * addresses, names of users and other subjects in clear, beside their digests.
     */
    public void setShowSubjects(String showSubjects) {
      this.showSubjects = EnumSetting.isOn(PREFIX + ".show-subjects", showSubjects);
    }
  }
}
