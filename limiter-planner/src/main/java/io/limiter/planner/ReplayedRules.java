// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rules of one policy that are replayed together.
 *
 * @param rules 1 to 8 rules, none of which counts calls in flight: a log does not have their ends
 * @param ban for subjects that are denied too often
 * @param counting which calls count; an admitted call that does not count gives its units back at
 *     once
 */
public record ReplayedRules(List<Rule> rules, Optional<BanRule> ban, Counting counting) {

  /**
   * @throws IllegalArgumentException if they cannot be one stack
   */
  public ReplayedRules {
    rules = List.copyOf(rules);
    var unused = stack(rules, ban, counting);
    for (Rule rule : rules) {
      if (rule.holdsPermits()) {
        throw new IllegalArgumentException(
            "The rule '%s' counts calls in flight, whose ends a log does not have: replay rules that count calls in a time"
                .formatted(rule.name()));
      }
    }
  }

  /** Rules that count all calls, without a ban. */
  public static ReplayedRules of(List<? extends Rule> rules) {
    return new ReplayedRules(List.copyOf(rules), Optional.empty(), Counting.ALL);
  }

  RuleStack stack() {
    return stack(rules, ban, counting);
  }

  private static RuleStack stack(List<Rule> rules, Optional<BanRule> ban, Counting counting) {
    RuleStack stack = RuleStack.of(rules).withCounting(counting);
    return ban.map(stack::withBan).orElse(stack);
  }

  /** Where in its second a call of a log of full seconds is replayed. */
  enum Placement {
    /** At the time of the log. */
    AS_WRITTEN,
    /** The calls of a subject in one second follow each other at equal distances. */
    SPREAD,
    /** At the end of odd seconds and at the beginning of even ones, so that seconds meet. */
    MEETING
  }

  /** One replay: rules, and where its calls are. */
  record Variant(RuleStack stack, Placement placement) {

    /** The units of a subject up to which none of its calls is denied; 0 if that is unknown. */
    long admits() {
      if (stack.waiting().isPresent()) {
        return 0;
      }
      long least = Long.MAX_VALUE;
      for (Rule rule : stack.rules()) {
        boolean begins =
            rule instanceof CustomRule
                || (rule instanceof TokenBucketRule bucket && bucket.initial() < bucket.count());
        least = Math.min(least, begins ? 0 : rule.count());
      }
      return least;
    }

    /**
     * For each rule a window, and the most units in any such window with which the rule denies no
     * call: a log or a fixed window never has more, a bucket refills as many until the next, and a
     * counter adds those of two windows.
     *
     * @param counted the windows whose demand is known
     * @return for each rule the index of its window and the units; empty if the demand does not
     *     show that no call is denied
     */
    List<long[]> sufficient(long[] counted) {
      List<long[]> all = new ArrayList<>();
      for (Rule rule : admits() == 0 ? List.<Rule>of() : stack.rules()) {
        boolean mayBeLonger = // a day of 25 hours, or a month
            rule instanceof FixedWindowRule fixed
                && fixed
                    .alignment()
                    .filter(
                        by -> by.calendar().isPresent() || !by.zone().getRules().isFixedOffset())
                    .isPresent();
        if (mayBeLonger) {
          return List.of();
        }
        TokenBucketRule bucket = rule instanceof TokenBucketRule some ? some : null;
        long window = MICROSECONDS.convert(bucket == null ? rule.window() : bucket.interval());
        window += placement == Placement.AS_WRITTEN ? 0 : AccessLog.SECOND_MICROS;
        long units = bucket == null ? rule.count() : Math.min(bucket.count(), bucket.refill());
        units = rule instanceof SlidingWindowCounterRule ? units / 2 : units;
        int shortest = -1;
        for (int w = 0; w < counted.length; w++) {
          if (counted[w] >= window && (shortest < 0 || counted[w] < counted[shortest])) {
            shortest = w;
          }
        }
        if (shortest < 0) {
          return List.of();
        }
        all.add(new long[] {shortest, units});
      }
      return all;
    }
  }

  /**
   * The replays between whose denials those of the real times are.
   *
   * <p>With logs and token buckets alone, and calls that cost one unit, this is certain: admitting
   * each call that may pass admits the most calls of any choice, and any choice under the longer
   * windows of the second variant is one under the real times, and any of those is one under the
   * first. A window of the real times has the calls of at least as many full seconds of the log,
   * and at most of one more; a bucket gains or loses what it refills in a second.
   *
   * <p>For other algorithms the denials of three placements of the calls are compared.
   *
   * @return one if the times are known, else two or three
   */
  List<Variant> variants(boolean wholeSeconds) {
    if (!wholeSeconds) {
      return List.of(new Variant(stack(), Placement.AS_WRITTEN));
    }
    if (isBounded()) {
      List<Rule> least = new ArrayList<>();
      List<Rule> most = new ArrayList<>();
      for (Rule rule : rules) {
        Rule fewer = denyingLess(rule);
        if (fewer != null) {
          least.add(fewer);
        }
        most.add(denyingMore(rule));
      }
      List<Variant> both = new ArrayList<>();
      if (!least.isEmpty()) {
        both.add(new Variant(RuleStack.of(least), Placement.AS_WRITTEN));
      }
      both.add(new Variant(RuleStack.of(most), Placement.AS_WRITTEN));
      return both;
    }
    List<Variant> placed = new ArrayList<>();
    for (Placement placement : Placement.values()) {
      placed.add(new Variant(stack(), placement));
    }
    return placed;
  }

  /** Whether the bounds of a log of full seconds are certain, see {@link #variants}. */
  boolean isBounded() {
    return ban.isEmpty()
        && counting == Counting.ALL
        && rules.stream()
            .allMatch(
                rule ->
                    rule instanceof SlidingWindowLogRule
                        || (rule instanceof TokenBucketRule bucket
                            && bucket.greedy()
                            && bucket.initial() == bucket.count()));
  }

  /** Null if the rule may deny nothing, since its window is shorter than a second. */
  private static @Nullable Rule denyingLess(Rule rule) {
    if (rule instanceof TokenBucketRule bucket) {
      long inSecond = Math.max(1, refilledInSecond(bucket));
      return bucketOf(bucket, bucket.count() + inSecond + 1).orElse(null);
    }
    Duration window = Duration.ofSeconds(rule.window().toSeconds());
    return window.isZero() ? null : new SlidingWindowLogRule(rule.name(), rule.count(), window);
  }

  private static Rule denyingMore(Rule rule) {
    if (rule instanceof TokenBucketRule bucket) {
      long count = bucket.count() - refilledInSecond(bucket) - 1;
      Optional<Rule> smaller = count < 1 ? Optional.empty() : bucketOf(bucket, count);
      // As many as the bucket refills in its interval it never denies.
      return smaller.orElseGet(
          () -> log(rule.name(), Math.min(bucket.count(), bucket.refill()), bucket.interval()));
    }
    return log(rule.name(), rule.count(), rule.window());
  }

  private static Rule log(String name, long count, Duration window) {
    Duration whole = Duration.ofSeconds(window.toSeconds() + (window.toNanosPart() > 0 ? 2 : 1));
    return new SlidingWindowLogRule(
        name,
        Math.min(count, SlidingWindowLogRule.MAX_COUNT),
        whole.compareTo(Rule.MAX_WINDOW) > 0 ? Rule.MAX_WINDOW : whole);
  }

  private static long refilledInSecond(TokenBucketRule bucket) {
    return (long)
        ((double) bucket.refill()
            * AccessLog.SECOND_MICROS
            / MICROSECONDS.convert(bucket.interval()));
  }

  private static Optional<Rule> bucketOf(TokenBucketRule bucket, long count) {
    try {
      return Optional.of(
          new TokenBucketRule(
              bucket.name(), count, bucket.refill(), bucket.interval(), true, count));
    } catch (IllegalArgumentException notExact) {
      return Optional.empty();
    }
  }
}
