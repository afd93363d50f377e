// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FadingCounter;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whose numbers continue under a changed rule, and whose have another meaning by then. */
class ServedRulesTest {

  /** No two of them can read each other's numbers. */
  static List<Rule> different() {
    FixedWindowRule aligned = FixedWindowRule.aligned(10, SECOND, ZoneOffset.UTC);
    TokenBucketRule bucket = TokenBucketRule.of(10, 2, SECOND);
    LeakyBucketRule leaky = LeakyBucketRule.of(2, SECOND, 10, SECOND);
    CustomRule custom = CustomRule.of(new FadingCounter(), 10, SECOND, 2.0);
    return List.of(
        SlidingWindowCounter.of(10, SECOND),
        SlidingWindowCounter.of(10, MINUTE),
        FixedWindowRule.of(10, SECOND),
        FixedWindowRule.of(10, MINUTE),
        aligned,
        FixedWindowRule.aligned(10, MINUTE, ZoneOffset.UTC),
        FixedWindowRule.aligned(10, SECOND, ZoneId.of("Europe/Berlin")),
        aligned.alignedTo(Alignment.to(ZoneOffset.UTC).from(LocalDateTime.of(2024, 1, 1, 0, 0, 1))),
        bucket,
        bucket.byInterval(),
        TokenBucketRule.of(10, 3, SECOND),
        TokenBucketRule.of(10, 3, SECOND).byInterval(),
        TokenBucketRule.of(10, 2, MINUTE),
        TokenBucketRule.of(10, 2, MINUTE).byInterval(),
        leaky,
        leaky.withCount(3),
        LeakyBucketRule.of(2, MINUTE, 10, SECOND),
        custom,
        CustomRule.of(new FadingCounter(), 10, MINUTE, 2.0),
        CustomRule.of(new FadingCounter(), 10, SECOND, 3.0),
        new CustomRule("longer", 10, SECOND, new FadingCounter(), List.of(2.0), MINUTE),
        CustomRule.of(new ScriptedAlgorithm(), 10, SECOND, 2.0));
  }

  @ParameterizedTest
  @MethodSource("different")
  void theNumbersOfARuleAreNotThoseOfAnother(Rule rule) {
    Cell cell = Cell.unused(rule);
    for (Rule other : different()) {
      assertThat(cell.serves(other)).as("%s", other).isEqualTo(other.equals(rule));
    }
  }

  @ParameterizedTest
  @MethodSource("different")
  void aRuleMayHaveAnotherName(Rule rule) {
    assertThat(Cell.unused(rule).serves(rule)).isTrue();
    assertThat(Cell.unused(rule).serves(rule.withName("other"))).isTrue();
  }

  @ParameterizedTest
  @MethodSource("different")
  void aRuleThatDoesNotSpaceCallsMayHaveAnotherCount(Rule rule) {
    boolean spaced = rule instanceof LeakyBucketRule;
    assertThat(Cell.unused(rule).serves(rule.withCount(20))).isEqualTo(!spaced);
  }

  @ParameterizedTest
  @MethodSource("different")
  void aBucketMayStartWithFewerTokensAndAQueueHaveOtherBounds(Rule rule) {
    Rule other = rule;
    if (rule instanceof TokenBucketRule bucket) {
      other = bucket.startingWith(1);
    } else if (rule instanceof LeakyBucketRule leaky) {
      other =
          new LeakyBucketRule(
              "other", leaky.count(), leaky.window(), 5, Duration.ofMillis(500), !leaky.fair());
    }
    assertThat(Cell.unused(rule).serves(other)).isTrue();
  }
}
