// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.micronaut.context.BeanContext;
import io.micronaut.context.exceptions.NoSuchBeanException;
import io.micronaut.context.exceptions.NonUniqueBeanException;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Creates a rule with the algorithm of a {@code @RateRule}. Its name is derived from its numbers.
 */
@Singleton
final class AlgorithmReader {

  /** Members that have no effect with any other algorithm. */
  private static final Map<Algorithm, List<String>> OWN =
      Map.of(
          Algorithm.FIXED_WINDOW, List.of("aligned", "zone", "anchor"),
          Algorithm.TOKEN_BUCKET, List.of("refill", "greedy", "initial"),
          Algorithm.LEAKY_BUCKET, List.of("queue", "maxWait", "fair"));

  private static final String PARAMETERS = "parameters";

  private final BeanContext beans;
  private final LimiterConfiguration configuration;
  private final FixedWindowReader windows;

  AlgorithmReader(
      BeanContext beans, LimiterConfiguration configuration, FixedWindowReader windows) {
    this.beans = beans;
    this.configuration = configuration;
    this.windows = windows;
  }

  Rule read(AnnotationMembers rule, long count, Duration window) {
    if (rule.has("custom")) {
      rule.reject("algorithm", "custom already defines how the rule counts: remove one of them");
      OWN.forEach((algorithm, members) -> reject(rule, algorithm, members));
      requireCount(rule, count);
      return custom(rule, count, window);
    }
    Algorithm algorithm =
        rule.constant("algorithm", Algorithm.class).orElse(Algorithm.SLIDING_WINDOW_LOG);
    OWN.forEach(
        (other, members) -> {
          if (other != algorithm) {
            reject(rule, other, members);
          }
        });
    rule.reject(
        PARAMETERS,
        "only an algorithm of your own has parameters: name it by custom, or remove it");
    switch (algorithm) {
      case SLIDING_WINDOW_LOG -> requireLogged(rule, count);
      case CONCURRENCY_LIMIT -> requirePlaces(rule, count);
      default -> requireCount(rule, count);
    }
    return switch (algorithm) {
      case SLIDING_WINDOW_LOG -> SlidingWindowLog.of(count, window);
      case SLIDING_WINDOW_COUNTER -> SlidingWindowCounter.of(count, window);
      case FIXED_WINDOW -> windows.read(rule, count, window);
      case TOKEN_BUCKET -> bucket(rule, count, window);
      case CONCURRENCY_LIMIT -> ConcurrencyLimitRule.of(count, window);
      case LEAKY_BUCKET -> LeakyBucketReader.read(rule, count, window);
    };
  }

  private static void reject(AnnotationMembers rule, Algorithm algorithm, List<String> members) {
    for (String member : members) {
      rule.reject(
          member, "only algorithm = %s has it: write that, or remove it".formatted(algorithm));
    }
  }

  private void requireLogged(AnnotationMembers rule, long count) {
    if (count > configuration.getMaxCount()) {
      throw rule.error(
          "count",
          count,
          "an exact log stores every call, so counts are limited to %d: lower it, or raise %s.max-count, or use algorithm = SLIDING_WINDOW_COUNTER or TOKEN_BUCKET, which store only one or two numbers"
              .formatted(configuration.getMaxCount(), LimiterConfiguration.PREFIX));
    }
  }

  private static void requirePlaces(AnnotationMembers rule, long count) {
    if (count > ConcurrencyLimitRule.MAX_COUNT) {
      throw rule.error(
          "count",
          count,
          "each call in flight is stored separately: give it 1 to "
              + ConcurrencyLimitRule.MAX_COUNT);
    }
  }

  private static void requireCount(AnnotationMembers rule, long count) {
    if (count > Rule.MAX_COUNT) {
      throw rule.error("count", count, "give it 1 to " + Rule.MAX_COUNT);
    }
  }

  private static TokenBucketRule bucket(AnnotationMembers rule, long count, Duration interval) {
    long refill = rule.annotation().longValue("refill").orElse(count);
    if (refill < 1 || refill > Rule.MAX_COUNT) {
      throw rule.error(
          "refill",
          refill,
          "give it 1 to %d, or leave it out to use count".formatted(Rule.MAX_COUNT));
    }
    long initial = rule.annotation().longValue("initial").orElse(-1);
    if (initial < -1 || initial > count) {
      throw rule.error(
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
          !rule.isFalse("greedy"),
          initial == -1 ? count : initial);
    } catch (IllegalArgumentException e) {
      throw rule.error(
          rule.has("refill") ? "refill" : "count", refill, String.valueOf(e.getMessage()));
    }
  }

  private CustomRule custom(AnnotationMembers rule, long count, Duration window) {
    Class<? extends CustomAlgorithm> type =
        rule.annotation()
            .classValue("custom", CustomAlgorithm.class)
            .orElseThrow(
                () -> rule.error("custom", rule.raw("custom"), "this class cannot be loaded"));
    try {
      if (!beans.getBeanDefinition(type).isSingleton()) {
        throw rule.error(
            "custom",
            type.getName(),
            "Redis is given the script of one bean of this type: make it a @Singleton");
      }
    } catch (NonUniqueBeanException e) {
      throw rule.error(
          "custom", type.getName(), "there are several beans of this type: name the one");
    } catch (NoSuchBeanException e) {
      throw rule.error(
          "custom", type.getName(), "there is no bean of this type: make it a @Singleton");
    }
    double[] parameters = rule.annotation().doubleValues(PARAMETERS);
    if (parameters.length > CustomRule.MAX_PARAMETERS
        || !Arrays.stream(parameters).allMatch(Double::isFinite)) {
      throw rule.error(
          PARAMETERS,
          Arrays.toString(parameters),
          "give it at most %d finite numbers".formatted(CustomRule.MAX_PARAMETERS));
    }
    try {
      return CustomRule.of(
          beans.getBean(type),
          count,
          window,
          Arrays.stream(parameters).boxed().toArray(Double[]::new));
    } catch (IllegalArgumentException e) {
      throw rule.error("custom", type.getName(), String.valueOf(e.getMessage()));
    }
  }

  /** Creates a leaky bucket from a {@code @RateRule}. */
  static final class LeakyBucketReader {

    private static final String QUEUE = "queue";
    private static final String MAX_WAIT = "maxWait";

    private LeakyBucketReader() {}

    static LeakyBucketRule read(AnnotationMembers rule, long count, Duration window) {
      int queue = rule.annotation().intValue(QUEUE).orElse(0);
      if (queue < 1 || queue > LeakyBucketRule.MAX_QUEUE) {
        throw rule.error(
            QUEUE,
            queue,
            "set how many calls may wait for their turn, 1 to %d; if no call is to wait, write algorithm = TOKEN_BUCKET with count = 1"
                .formatted(LeakyBucketRule.MAX_QUEUE));
      }
      Duration maxWait = rule.has(MAX_WAIT) ? maxWait(rule) : untilTheLast(queue, count, window);
      try {
        return LeakyBucketRule.of(count, window, queue, maxWait).withFair(!rule.isFalse("fair"));
      } catch (IllegalArgumentException e) {
        String member = rule.has(MAX_WAIT) ? MAX_WAIT : QUEUE;
        throw rule.error(member, rule.raw(member), String.valueOf(e.getMessage()));
      }
    }

    private static Duration maxWait(AnnotationMembers rule) {
      TimeUnit unit = rule.constant("timeUnit", TimeUnit.class).orElse(RateRuleReader.DEFAULT_UNIT);
      Duration maxWait = AnnotatedTimes.read(rule, MAX_WAIT, 0, unit);
      if (maxWait.compareTo(LeakyBucketRule.MAX_WAIT) > 0) {
        throw rule.error(
            MAX_WAIT,
            rule.raw(MAX_WAIT) + " " + unit,
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
  }
}
