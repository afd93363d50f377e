// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;

import io.limiter.core.Policy;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.IntStream;

/** The policies that are measured: 1,000 in 60 s and 10,000 in 3,600 s, by each algorithm. */
final class Stacks {

  /** The subject of most figures. */
  static final String LOG = "log, 2 rules";

  private static final Rule FEW = SlidingWindowLogRule.of(1_000, ofMinutes(1));
  private static final Rule MANY = SlidingWindowLogRule.of(10_000, ofHours(1));

  private Stacks() {}

  static List<Policy> all() {
    Rule bucket = TokenBucketRule.of(10_000, 10_000, ofHours(1));
    return List.of(
        logs(1),
        Policy.of(LOG, FEW, MANY),
        logs(4),
        logs(8),
        two("sliding window counter, 2 rules", SlidingWindowCounterRule::of),
        two("fixed window, 2 rules", FixedWindowRule::of),
        two(
            "fixed window aligned, 2 rules",
            (count, window) -> FixedWindowRule.aligned(count, window, ZoneOffset.UTC)),
        two("token bucket, 2 rules", (count, window) -> TokenBucketRule.of(count, count, window)),
        two(
            "token bucket by interval, 2 rules",
            (count, window) -> TokenBucketRule.of(count, count, window).byInterval()),
        two(
            "an algorithm of one's own, 2 rules",
            (count, window) -> CustomRule.of(new OwnWindow(), count, window)),
        Policy.of(
            "leaky bucket, 1 rule",
            LeakyBucketRule.of(100_000, ofMinutes(1), 10_000, ofMinutes(1))),
        two(
                "token bucket and a ban, 2 rules",
                (count, window) -> TokenBucketRule.of(count, count, window))
            .withBan(BanRule.of(5, ofMinutes(1), ofHours(1))),
        Policy.of("log and token bucket", FEW, bucket),
        Policy.of(
            "log, token bucket, fixed window and counter",
            FEW,
            bucket,
            FixedWindowRule.of(10_001, ofHours(1)),
            SlidingWindowCounterRule.of(10_002, ofHours(1))));
  }

  /** This number of rules of the log, with different counts and windows. */
  static Policy logs(int rules) {
    return Policy.of(
        "log, %s rule%s".formatted(rules, rules == 1 ? "" : "s"),
        IntStream.rangeClosed(1, rules)
            .mapToObj(i -> SlidingWindowLogRule.of(1_000L * i, ofMinutes(i)))
            .toArray(Rule[]::new));
  }

  private static Policy two(String name, BiFunction<Long, Duration, Rule> rule) {
    return Policy.of(name, rule.apply(1_000L, ofMinutes(1)), rule.apply(10_000L, ofHours(1)));
  }
}
