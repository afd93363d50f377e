// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Custom;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.TokenBucket;
import io.limiter.micronaut.config.LimiterConfiguration;
import jakarta.inject.Singleton;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Creates a rule with the algorithm of a {@code @RateRule}. Its name is derived from its numbers.
 */
@Singleton
final class AlgorithmReader {

  /** The members that define how a rule counts. */
  static final List<String> MEMBERS =
      List.of("custom", "fixedWindow", "tokenBucket", "leakyBucket", "algorithm");

  private static final String VALUE = "value";
  private static final String PARAMETERS = "parameters";
  private static final String QUEUE = "queue";
  private static final String MAX_WAIT = "maxWait";

  private final NamedBeans beans;
  private final LimiterConfiguration configuration;

  AlgorithmReader(NamedBeans beans, LimiterConfiguration configuration) {
    this.beans = beans;
    this.configuration = configuration;
  }

  Rule read(AnnotationMembers rule, long count, Duration window) {
    requireOne(rule);
    Optional<AnnotationMembers> own = rule.nested("custom", Custom.class);
    Optional<AnnotationMembers> fixed = rule.nested("fixedWindow", FixedWindow.class);
    Optional<AnnotationMembers> tokens = rule.nested("tokenBucket", TokenBucket.class);
    Optional<AnnotationMembers> queue = rule.nested("leakyBucket", LeakyBucket.class);
    Algorithm algorithm =
        rule.constant("algorithm", Algorithm.class).orElse(Algorithm.SLIDING_WINDOW_LOG);
    boolean grouped = Stream.of(own, fixed, tokens, queue).anyMatch(Optional::isPresent);
    if (!grouped && algorithm == Algorithm.SLIDING_WINDOW_LOG) {
      requireLogged(rule, count);
      return SlidingWindowLog.of(count, window);
    }
    if (!grouped && algorithm == Algorithm.CONCURRENCY_LIMIT) {
      return concurrency(rule, "count", count, window);
    }
    requireCount(rule, count);
    if (own.isPresent()) {
      return custom(own.get(), count, window);
    }
    if (fixed.isPresent()) {
      return fixedWindow(rule, fixed.get(), count, window);
    }
    if (tokens.isPresent()) {
      return tokenBucket(rule, tokens.get(), count, window);
    }
    if (queue.isPresent()) {
      return leakyBucket(rule, queue.get(), count, window);
    }
    return switch (algorithm) {
      case SLIDING_WINDOW_COUNTER -> SlidingWindowCounter.of(count, window);
      case FIXED_WINDOW -> FixedWindowRule.of(count, window);
      default -> TokenBucketRule.of(count, count, window);
    };
  }

  /** A rule counts in one way: rejects the second member that defines one. */
  private static void requireOne(AnnotationMembers rule) {
    List<String> written =
        MEMBERS.stream().filter(member -> rule.has(member) && !isEmpty(rule.raw(member))).toList();
    if (written.size() > 1) {
      rule.reject(
          written.get(1),
          "%s already defines how the rule counts: remove one of them".formatted(written.get(0)));
    }
  }

  private static boolean isEmpty(@Nullable Object written) {
    return written instanceof Object[] annotations && annotations.length == 0;
  }

  private void requireLogged(AnnotationMembers rule, long count) {
    if (count > SlidingWindowLog.MAX_COUNT) {
      throw rule.error(
          "count",
          count,
          "an exact log stores every call: give it at most %d, or use algorithm = SLIDING_WINDOW_COUNTER or TOKEN_BUCKET, which store only one or two numbers"
              .formatted(SlidingWindowLog.MAX_COUNT));
    }
    if (count > configuration.getMaxCount()) {
      throw rule.error(
          "count",
          count,
          "an exact log stores every call, so counts are limited to %d: lower it, or raise %s.max-count, or use algorithm = SLIDING_WINDOW_COUNTER or TOKEN_BUCKET, which store only one or two numbers"
              .formatted(configuration.getMaxCount(), LimiterConfiguration.PREFIX));
    }
  }

  /**
   * @param member the member with the number of permits
   */
  static ConcurrencyLimitRule concurrency(
      AnnotationMembers rule, String member, long count, Duration permit) {
    if (count > ConcurrencyLimitRule.MAX_COUNT) {
      throw rule.error(
          member,
          count,
          "each call in flight is stored separately: give it 1 to "
              + ConcurrencyLimitRule.MAX_COUNT);
    }
    return ConcurrencyLimitRule.of(count, permit);
  }

  private static void requireCount(AnnotationMembers rule, long count) {
    if (count > Rule.MAX_COUNT) {
      throw rule.error("count", count, "give it 1 to " + Rule.MAX_COUNT);
    }
  }

  private static TokenBucketRule tokenBucket(
      AnnotationMembers rule, AnnotationMembers bucket, long count, Duration interval) {
    long refill = bucket.number("refill").orElse(count);
    if (refill < 1 || refill > Rule.MAX_COUNT) {
      throw bucket.error(
          "refill",
          refill,
          "give it 1 to %d, or leave it out to use count".formatted(Rule.MAX_COUNT));
    }
    long initial = bucket.number("initial").orElse(-1);
    if (initial < -1 || initial > count) {
      throw bucket.error(
          "initial",
          initial,
          "give it 0 to %d, which is its count, or leave it out to start with a full bucket"
              .formatted(count));
    }
    try {
      return new TokenBucketRule(
          count + "-at-" + Rule.nameOf(refill, interval),
          count,
          refill,
          interval,
          !bucket.isFalse("greedy"),
          initial == -1 ? count : initial);
    } catch (IllegalArgumentException e) {
      String why = String.valueOf(e.getMessage());
      throw bucket.has("refill")
          ? bucket.error("refill", refill, why)
          : rule.error("count", count, why);
    }
  }

  private CustomRule custom(AnnotationMembers own, long count, Duration window) {
    NamedBeans.FoundBean<CustomAlgorithm> bean = beans.ofType(own, VALUE, CustomAlgorithm.class);
    if (!bean.isSingleton()) {
      throw own.error(
          VALUE,
          bean.name(),
          "Redis is given the script of one bean of this type: make it a @Singleton");
    }
    double[] parameters = own.annotation().doubleValues(PARAMETERS);
    if (parameters.length > CustomRule.MAX_PARAMETERS
        || !Arrays.stream(parameters).allMatch(Double::isFinite)) {
      throw own.error(
          PARAMETERS,
          Arrays.toString(parameters),
          "give it at most %d finite numbers".formatted(CustomRule.MAX_PARAMETERS));
    }
    try {
      return CustomRule.of(
          bean.object().get(),
          count,
          window,
          Arrays.stream(parameters).boxed().toArray(Double[]::new));
    } catch (IllegalArgumentException e) {
      throw own.error(VALUE, bean.name(), String.valueOf(e.getMessage()));
    }
  }

  private static LeakyBucketRule leakyBucket(
      AnnotationMembers rule, AnnotationMembers bucket, long count, Duration window) {
    int queue = bucket.number(QUEUE, 0);
    if (queue < 1 || queue > LeakyBucketRule.MAX_QUEUE) {
      throw bucket.error(
          QUEUE,
          queue,
          "give it 1 to %d, the number of calls that may wait for their turn; if no call is to wait, write algorithm = TOKEN_BUCKET with count = 1"
              .formatted(LeakyBucketRule.MAX_QUEUE));
    }
    Duration maxWait =
        bucket.has(MAX_WAIT) ? maxWait(rule, bucket) : untilTheLast(queue, count, window);
    try {
      return LeakyBucketRule.of(count, window, queue, maxWait).withFair(!bucket.isFalse("fair"));
    } catch (IllegalArgumentException e) {
      String member = bucket.has(MAX_WAIT) ? MAX_WAIT : QUEUE;
      throw bucket.error(member, bucket.raw(member), String.valueOf(e.getMessage()));
    }
  }

  private static Duration maxWait(AnnotationMembers rule, AnnotationMembers bucket) {
    TimeUnit unit = rule.constant("timeUnit", TimeUnit.class).orElse(RateRuleReader.DEFAULT_UNIT);
    Duration maxWait = bucket.time(MAX_WAIT, 0, unit);
    if (maxWait.compareTo(LeakyBucketRule.MAX_WAIT) > 0) {
      throw bucket.error(
          MAX_WAIT,
          bucket.raw(MAX_WAIT) + " " + unit,
          "the client's connection stays open meanwhile: give it at most 5 minutes");
    }
    return maxWait;
  }

  /** Whole milliseconds, rounded up, so that the queue's last place can be used. */
  private static Duration untilTheLast(int queue, long count, Duration window) {
    double millis = Math.ceil((double) window.toNanos() / 1e6 / count * queue);
    double longest = LeakyBucketRule.MAX_WAIT.toMillis();
    return Duration.ofMillis((long) Math.max(1, Math.min(millis, longest)));
  }

  private FixedWindowRule fixedWindow(
      AnnotationMembers rule, AnnotationMembers fixed, long count, Duration window) {
    FixedWindowRule unaligned = FixedWindowRule.of(count, window);
    Optional<Alignment> alignment = alignment(fixed);
    try {
      return alignment.map(unaligned::alignedTo).orElse(unaligned);
    } catch (IllegalArgumentException e) {
      throw rule.error("time", time(rule), String.valueOf(e.getMessage()));
    }
  }

  private Optional<Alignment> alignment(AnnotationMembers rule) {
    if (rule.has("aligned") && rule.isFalse("aligned")) {
      for (String member : List.of("zone", "anchor")) {
        rule.reject(member, "only aligned windows have it: write aligned = true, or remove it");
      }
      return Optional.empty();
    }
    Optional<ZoneId> zone = rule.text("zone").map(text -> zone(rule, text));
    Optional<LocalDateTime> anchor = rule.text("anchor").map(text -> anchor(rule, text));
    return rule.isTrue("aligned") || zone.isPresent() || anchor.isPresent()
        ? Optional.of(new Alignment(zone.orElseGet(configuration::zone), anchor))
        : Optional.empty();
  }

  private static ZoneId zone(AnnotationMembers rule, String text) {
    try {
      return ZoneId.of(text);
    } catch (DateTimeException unknown) {
      throw rule.error(
          "zone", text, "there is no such time zone: write one such as UTC or Europe/Berlin");
    }
  }

  private static LocalDateTime anchor(AnnotationMembers rule, String text) {
    try {
      LocalDateTime anchor = LocalDateTime.parse(text);
      if (anchor.truncatedTo(ChronoUnit.MICROS).equals(anchor)) {
        return anchor;
      }
    } catch (DateTimeException unreadable) {
      // Rejected below.
    }
    throw rule.error(
        "anchor",
        text,
        "it is not a local time in whole microseconds: write one such as 2024-01-01T00:00");
  }

  private static String time(AnnotationMembers rule) {
    return rule.setting("time").isPresent()
        ? rule.setting("time").get().value()
        : rule.number("time").orElse(RateRuleReader.DEFAULT_TIME)
            + " "
            + rule.constant("timeUnit", TimeUnit.class).orElse(RateRuleReader.DEFAULT_UNIT);
  }
}
