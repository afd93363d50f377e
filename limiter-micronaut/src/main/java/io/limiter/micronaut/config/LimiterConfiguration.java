// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.Fallback;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.annotation.Anonymous;
import io.micronaut.context.annotation.ConfigurationInject;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.bind.annotation.Bindable;
import java.time.DateTimeException;
import java.time.ZoneId;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Settings of the limiter as a whole.
 *
 * @param maxCount the largest count of an exact log
 * @param anonymous how calls without a subject for a limit by user, header or resolver are limited,
 *     unless the annotation specifies it
 * @param fallback who decides while Redis does not answer, where a policy has no fallback of its
 *     own
 * @param zone the time zone of aligned windows, unless the rule specifies it
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(LimiterConfiguration.PREFIX)
public record LimiterConfiguration(
    long maxCount, Anonymous anonymous, Fallback fallback, ZoneId zone) {

  /** Prefix of these settings. */
  public static final String PREFIX = "limiter";

  public LimiterConfiguration {
    Bounds.require(PREFIX + ".max-count", maxCount, 1, SlidingWindowLogRule.MAX_COUNT);
  }

  /**
   * @param enabled Default value true. If false, this bean and the rest of the limiter are absent.
   * @param maxCount The largest count of an exact log, which takes about 8 bytes a unit for each
   *     subject. Other algorithms store a few numbers and are not bounded by it. Default value
   *     10,000; 1 to 1,000,000.
   * @param anonymous How calls without a subject for a limit by user, header or resolver are
   *     limited, unless the annotation specifies it. Default value {@code address}; or {@code
   *     reject}.
   * @param fallback Who decides while Redis does not answer, where a policy has no fallback of its
   *     own. Default value {@code local}; or {@code allow}, or {@code deny}: 503 over HTTP. Without
   *     Redis there is no fallback: memory always decides.
   * @param zone The time zone of aligned windows, unless the rule specifies it. Default value
   *     {@code UTC}; or a zone such as {@code Europe/Berlin}.
   * @throws ConfigurationException naming the property, its value and the remedy
   */
  @ConfigurationInject
  LimiterConfiguration(
      @Bindable(defaultValue = "true") boolean enabled,
      @Bindable(defaultValue = "10000") long maxCount,
      @Bindable(defaultValue = "address") String anonymous,
      @Bindable(defaultValue = "local") String fallback,
      @Bindable(defaultValue = "UTC") String zone) {
    this(
        maxCount,
        EnumSetting.of(Anonymous.class, PREFIX + ".anonymous", anonymous),
        EnumSetting.of(Fallback.class, PREFIX + ".fallback", fallback),
        existing(zone));
  }

  private static ZoneId existing(String zone) {
    try {
      return ZoneId.of(zone);
    } catch (DateTimeException unknown) {
      throw new ConfigurationException(
          "limiter.zone = %s: there is no such time zone: write one such as UTC or Europe/Berlin"
              .formatted(zone));
    }
  }

  /**
   * Settings of the gate, which decides requests before their bodies are read.
   *
   * @param enabled Whether the gate decides. Default value true. Without it, the guard decides all
   *     calls.
   */
  @ConfigurationProperties("gate")
  public record GateConfiguration(@Bindable(defaultValue = "true") boolean enabled) {}

  /**
   * Settings of the header fields that report the state of a limit. {@code Cache-Control: no-store}
   * on denials is not optional: it is always sent.
   *
   * @param formats the formats in which the limits are stated
   * @param retryAfter whether {@code Retry-After} is sent
   * @param retryAfterJitter the largest share of a denial's wait by which it is longer
   * @param warning whether {@code X-RateLimit-Warning} is sent
   * @param debug whether {@code X-Decided-By} is sent
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("headers")
  public record HeadersConfiguration(
      Set<Format> formats,
      boolean retryAfter,
      double retryAfterJitter,
      boolean warning,
      boolean debug) {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".headers";

    private static final String NONE = "none";

    /** A format of the fields that state the limits. */
    public enum Format {
      /** {@code RateLimit-Policy} and {@code RateLimit} of draft 11, with all rules. */
      DRAFT_11,
      /**
       * The same fields with the names of the open change of that draft, {@code a} and {@code w},
       * and its {@code c}.
       */
      DRAFT_NEXT,
      /** The same fields as in draft 7. */
      DRAFT_7,
      /** {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset} in seconds from now. */
      X_RATE_LIMIT,
      /** The same with the reset in seconds since 1970, by the clock of the store. */
      X_RATE_LIMIT_EPOCH
    }

    /**
     * @param format The formats in which the limits are stated, on admitted and denied calls.
     *     Default value {@code draft-11}; or {@code draft-next}, {@code draft-7}, {@code
     *     x-rate-limit}, {@code x-rate-limit-epoch}, or several of these, or {@code none}.
     * @param retryAfter Whether {@code Retry-After} is sent. Default value true.
     * @param retryAfterJitter How much longer than its wait a denied caller is asked to stay away,
     *     as a share of the wait: a random time up to that, so that the callers of equal denials do
     *     not return together. Default value 0, the exact time; 0 to 1. Header, body, message,
     *     exception and events of a denial state the same time.
     * @param warning Whether limited responses have {@code X-RateLimit-Warning} with the names of
     *     the rules that are near their limit, by {@code warn-at} of their policies. Default value
     *     false.
     * @param debug Whether limited responses have {@code X-Decided-By}: {@code STORE}, {@code
     *     DENY_CACHE}, {@code LEASE}, {@code FALLBACK} with the reason, or {@code NONE}. It shows
     *     clients when Redis is away. Default value false.
     * @throws ConfigurationException naming the property, its value and the remedy
     */
    @ConfigurationInject
    HeadersConfiguration(
        @Bindable(defaultValue = "draft-11") List<String> format,
        @Bindable(defaultValue = "true") boolean retryAfter,
        @Bindable(defaultValue = "0") double retryAfterJitter,
        @Bindable(defaultValue = "false") boolean warning,
        @Bindable(defaultValue = "false") boolean debug) {
      this(formats(format), retryAfter, retryAfterJitter, warning, debug);
      Bounds.require(
          PREFIX + ".retry-after-jitter",
          retryAfterJitter,
          retryAfterJitter >= 0 && retryAfterJitter <= 1,
          "0 to 1");
    }

    private static Set<Format> formats(List<String> written) {
      Set<Format> formats = EnumSet.noneOf(Format.class);
      List<String> words = written.stream().map(String::strip).filter(w -> !w.isEmpty()).toList();
      if (words.stream().noneMatch(NONE::equalsIgnoreCase) || words.size() > 1) {
        words.forEach(
            word ->
                formats.add(
                    EnumSetting.of(
                        Format.class, PREFIX + ".format", word, ", to several, or to none alone")));
      }
      requireOne(formats, written, EnumSet.of(Format.DRAFT_11, Format.DRAFT_NEXT, Format.DRAFT_7));
      requireOne(formats, written, EnumSet.of(Format.X_RATE_LIMIT, Format.X_RATE_LIMIT_EPOCH));
      return formats;
    }

    /** Rejects two formats of the same fields. */
    private static void requireOne(Set<Format> formats, List<String> written, Set<Format> same) {
      same.retainAll(formats);
      if (same.size() > 1) {
        throw new ConfigurationException(
            "%s.format = %s: two of them have the same fields: keep one"
                .formatted(PREFIX, String.join(",", written)));
      }
    }
  }

  /**
   * Settings of the memory store, which decides while Redis does not answer, or always where no
   * {@code redis.uri} is set.
   *
   * @param maxSubjects Maximum number of subjects that are stored at the same time. Default value
   *     100,000; 1 or more. Further subjects share what is left of a limit.
   * @param instances Number of instances of the service, which share a limit wherever memory
   *     decides. Default value 1, which gives every instance the whole limit. With more, each
   *     instance has the count divided by their number, rounded up.
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("memory")
  public record MemoryConfiguration(
      @Bindable(defaultValue = "100000") int maxSubjects,
      @Bindable(defaultValue = "1") int instances) {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".memory";

    public MemoryConfiguration {
      Bounds.require(PREFIX + ".max-subjects", maxSubjects, maxSubjects >= 1, "1 or more");
      Bounds.require(PREFIX + ".instances", instances, instances >= 1, "1 or more");
    }
  }

  /**
   * Settings of the application events of the limiter.
   *
   * @param queueSize Maximum number of events that wait for their listeners. Default value 1,024; 1
   *     to 100,000. Further events are dropped and counted.
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("events")
  public record EventsConfiguration(@Bindable(defaultValue = "1024") int queueSize) {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".events";

    public EventsConfiguration {
      Bounds.require(PREFIX + ".queue-size", queueSize, 1, 100_000);
    }
  }

  /**
   * Settings of the meters and the span attributes of the limiter.
   *
   * @param enabled Default value true. If false, the limiter has no meters and writes no span
   *     attributes.
   */
  @ConfigurationProperties("metrics")
  public record MetricsConfiguration(@Bindable(defaultValue = "true") boolean enabled) {}

  /**
   * Settings of the limiter's part of the health endpoint of micronaut-management.
   *
   * @param enabled Default value true. If false, the limiter has no health indicator, and that of
   *     micronaut-redis is unchanged.
   * @param required Whether the limiter reports DOWN while Redis is away, although memory decides
   *     then. Default value false.
   */
  @ConfigurationProperties("health")
  public record HealthConfiguration(
      @Bindable(defaultValue = "true") boolean enabled,
      @Bindable(defaultValue = "false") boolean required) {}
}
