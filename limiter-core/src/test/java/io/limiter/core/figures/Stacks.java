// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.figures;

import io.limiter.core.FadingCounter;
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
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.Collectors;

/** What is measured: each algorithm with one rule and with two, and some together. */
final class Stacks {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration HOUR = Duration.ofHours(1);

  private Stacks() {}

  static List<Policy> all() {
    Map<String, Rule[]> stacks = new LinkedHashMap<>();
    twice(stacks, "log", SlidingWindowLogRule::of);
    twice(stacks, "counter", SlidingWindowCounterRule::of);
    twice(stacks, "fixed", FixedWindowRule::of);
    twice(
        stacks,
        "fixed-aligned",
        (count, window) -> FixedWindowRule.aligned(count, window, ZoneId.of("Europe/Berlin")));
    twice(stacks, "bucket", (count, window) -> TokenBucketRule.of(count, count, window));
    twice(
        stacks,
        "bucket-by-interval",
        (count, window) -> TokenBucketRule.of(count, count, window).byInterval());
    Rule leaky = LeakyBucketRule.of(100_000, MINUTE, 10_000, MINUTE);
    stacks.put("leaky", new Rule[] {leaky});
    twice(stacks, "own", (count, window) -> CustomRule.of(new FadingCounter(), count, window, 2.0));
    Rule log = SlidingWindowLogRule.of(1_000, MINUTE);
    Rule bucket = TokenBucketRule.of(10_000, 10_000, HOUR);
    stacks.put("log+bucket", new Rule[] {log, bucket});
    stacks.put(
        "log+bucket+fixed+counter",
        new Rule[] {
          log, bucket, FixedWindowRule.of(10_001, HOUR), SlidingWindowCounterRule.of(10_002, HOUR)
        });
    List<Policy> policies =
        stacks.entrySet().stream()
            .map(stack -> Policy.of(stack.getKey(), stack.getValue()))
            .collect(Collectors.toCollection(ArrayList::new));
    BanRule ban = BanRule.of(5, MINUTE, HOUR);
    policies.add(Policy.of("log-and-ban", log).withBan(ban));
    policies.add(Policy.of("bucket-and-ban", bucket).withBan(ban));
    return policies;
  }

  private static void twice(
      Map<String, Rule[]> stacks, String name, BiFunction<Long, Duration, Rule> rule) {
    Rule minute = rule.apply(1_000L, MINUTE);
    stacks.put(name, new Rule[] {minute});
    stacks.put(name + "-twice", new Rule[] {minute, rule.apply(10_000L, HOUR)});
  }
}
