// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static java.time.temporal.ChronoUnit.MICROS;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Rules of every algorithm in one stack: all or nothing, rules that change, and a clock that is
 * set.
 */
public interface MixedStackContract extends StoreHarness {

  /** One of each, all of the same count. */
  private static List<Rule> everyAlgorithm(long count) {
    return List.of(
        rule(count, HOUR).withName("log"),
        SlidingWindowCounterRule.of(count, HOUR).withName("counter"),
        FixedWindowRule.of(count, HOUR).withName("window"),
        FixedWindowRule.aligned(count, HOUR, ZoneOffset.UTC).withName("aligned"),
        TokenBucketRule.of(count, count, HOUR).withName("bucket"),
        TokenBucketRule.of(count, count, HOUR).byInterval().withName("interval"),
        CustomRule.of(new FadingCounter(), count, HOUR, 2.0).withName("own"));
  }

  /** So that no window ends soon. */
  private void beginHour() {
    long past =
        Math.floorMod(StoreHarness.micros(Instant.EPOCH, now()), MICROSECONDS.convert(HOUR));
    advance(HOUR.minus(Duration.of(past, MICROS)));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6})
  default void whicheverRuleDeniesNothingChanges(int narrow) {
    List<Rule> rules = new ArrayList<>(everyAlgorithm(9));
    rules.set(narrow, rules.get(narrow).withCount(2));
    LimitRequest call = call(rules.toArray(Rule[]::new));
    beginHour();
    acquire(2, call);
    advance(SECOND);
    List<Optional<String>> before = stored(call);
    for (int i = 0; i < 3; i++) {
      Verdict denied = acquire(call);
      assertThat(denied.outcome()).isEqualTo(Outcome.LIMITED);
      assertThat(denied.violated())
          .extracting(RuleVerdict::rule)
          .containsExactly(rules.get(narrow));
      assertThat(denied.rules())
          .extracting(RuleVerdict::remaining)
          .containsOnly(7L, 0L)
          .containsOnlyOnce(0L);
    }
    assertThat(stored(call)).isEqualTo(before);
    assertThat(before.get(0)).isPresent();
  }

  @Test
  default void aDeniedStackCreatesNoKey() {
    LimitRequest call = call(everyAlgorithm(5).toArray(Rule[]::new)).withCost(6);
    assertLimited(call);
    assertThat(stored(call)).containsExactly(Optional.empty());
  }

  @Test
  default void everyRuleTakesTheUnitsOfAnAdmittedCall() {
    LimitRequest call = call(everyAlgorithm(9).toArray(Rule[]::new));
    beginHour();
    assertThat(acquire(call.withCost(4)).rules())
        .extracting(RuleVerdict::remaining)
        .containsOnly(5L);
    assertThat(record(call).rules()).extracting(RuleVerdict::remaining).containsOnly(4L);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsOnly(4L);
  }

  @Test
  default void retryAfterOfAMixedStackIsTheLongest() {
    LimitRequest call =
        call(TokenBucketRule.of(1, 1, SECOND), FixedWindowRule.of(2, MINUTE), rule(3, HOUR));
    assertAllowed(call);
    assertRetryAfterIsExact(call, SECOND);
    assertRetryAfterIsExact(call, MINUTE.minus(SECOND));
    assertRetryAfterIsExact(call, HOUR.minus(MINUTE));
  }

  @Test
  default void aRefundGivesBackToEveryRuleExceptACustomOne() {
    LimitRequest call = call(everyAlgorithm(9).toArray(Rule[]::new));
    beginHour();
    acquire(1, call);
    advance(TICK);
    Verdict verdict = acquire(call.withCost(4));
    assertThat(refund(verdict)).isEqualTo(4);
    assertThat(refund(verdict)).isZero();
    assertThat(peek(call).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(8L, 8L, 8L, 8L, 8L, 8L, 4L);
  }

  @Test
  default void anotherCountContinuesFromTheUnitsUsed() {
    LimitRequest before = call(everyAlgorithm(9).toArray(Rule[]::new));
    LimitRequest after =
        call(everyAlgorithm(9).stream().map(r -> r.withCount(12)).toArray(Rule[]::new));
    beginHour();
    acquire(4, before);
    for (RuleVerdict rule : acquire(after).rules()) {
      // A larger bucket is refilled as before; one that starts full has more.
      assertThat(rule.remaining()).as(rule.rule().name()).isEqualTo(7);
    }
  }

  /** Two rules of one shape have a cell each, in the order of their counts. */
  @Test
  default void theOrderOfRulesDoesNotMatter() {
    Rule strict = FixedWindowRule.of(2, MINUTE);
    Rule loose = FixedWindowRule.of(5, MINUTE);
    Rule log = rule(9, HOUR);
    acquire(2, call(strict, log, loose));
    assertThat(peek(call(loose, strict, log)).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(3L, 0L, 7L);
  }

  @Test
  default void resetAffectsEveryRule() {
    LimitRequest call = call(everyAlgorithm(9).toArray(Rule[]::new));
    acquire(4, call);
    assertThat(store().reset(List.of(call.charge(0).key())))
        .succeedsWithin(SECOND.multipliedBy(10));
    assertThat(stored(call)).containsExactly(Optional.empty());
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsOnly(9L);
  }

  @Test
  default void aClockSetBackStopsNoRuleForLongerThanItsWindow() {
    for (Rule one : everyAlgorithm(2)) {
      LimitRequest call = call("set back " + one.name(), one);
      beginHour();
      acquire(2, call);
      advance(HOUR.multipliedBy(5).negated());
      Verdict denied = acquire(call);
      assertThat(denied.retryAfter().orElseThrow())
          .as(one.name())
          .isLessThanOrEqualTo(HOUR.multipliedBy(2));
      advance(denied.retryAfter().orElseThrow().minus(TICK));
      assertLimited(call);
      advance(TICK);
      assertAllowed(call);
    }
  }
}
