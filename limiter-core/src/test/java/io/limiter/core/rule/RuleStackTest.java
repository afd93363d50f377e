// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class RuleStackTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration HOUR = Duration.ofHours(1);

  private final RuleStack stack =
      RuleStack.of(
          List.of(
              TokenBucketRule.of(10, 10, MINUTE),
              SlidingWindowLogRule.of(5, HOUR),
              FixedWindowRule.of(100, HOUR),
              SlidingWindowLogRule.of(20, MINUTE)));

  @Test
  void logsAndOtherRulesAreDistinguished() {
    assertThat(stack.logs()).isEqualTo(2);
    assertThat(List.of(0, 1, 2, 3)).filteredOn(stack::isLog).containsExactly(1, 3);
    assertThat(stack.cellIndex(0)).isEqualTo(0);
    assertThat(stack.cellIndex(2)).isEqualTo(1);
  }

  @Test
  void aLogKeepsTheMostUnitsForTheLongestWindowOfAnyOfItsRules() {
    assertThat(stack.kept()).isEqualTo(20);
    assertThat(stack.horizonMicros()).isEqualTo(MICROSECONDS.convert(HOUR));
    assertThat(RuleStack.of(List.of(ConcurrencyLimitRule.of(3))).kept()).isEqualTo(6);
  }

  @Test
  void aWholeWindowIsAlwaysTheSameObject() {
    assertThat(stack.duration(60_000_000, 0)).isSameAs(stack.window(0)).isEqualTo(MINUTE);
    assertThat(stack.duration(1, 0)).isEqualTo(Duration.ofNanos(1_000));
  }

  @Test
  void itsTextNamesItsRulesItsBanAndWhatItCounts() {
    RuleStack plain = RuleStack.of(List.of(SlidingWindowLogRule.of(1, Duration.ofMinutes(1))));
    assertThat(plain).hasToString(plain.rules().toString());
    BanRule ban = BanRule.of(3, Duration.ofMinutes(1), Duration.ofHours(1));
    assertThat(plain.withBan(ban).withCounting(Counting.FAILURES))
        .hasToString(plain.rules() + ", " + ban + ", FAILURES");
  }

  @Test
  void ofLogsWithOneWindowTheFirstIsTheLongest() {
    Duration minute = Duration.ofMinutes(1);
    RuleStack stack =
        RuleStack.of(
            List.of(
                SlidingWindowLogRule.of(1, Duration.ofSeconds(1)),
                SlidingWindowLogRule.of(10, minute),
                SlidingWindowLogRule.of(20, minute)));
    assertThat(stack.longestLog()).isEqualTo(1);
  }
}
