// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is used of each rule and in which period, and whether that is near a limit. */
public interface UsageContract extends StoreHarness {

  private List<Usage> usage(LimitRequest request) {
    return new Limiter(store()).usage(request).toCompletableFuture().join();
  }

  private static Usage of(Rule rule, long used, Instant begin, Instant end) {
    return new Usage(rule, used, rule.capacity() - used, Optional.of(begin), Optional.of(end));
  }

  private static Usage withoutPeriod(Rule rule, long used) {
    return new Usage(rule, used, rule.capacity() - used, Optional.empty(), Optional.empty());
  }

  /** The 31st, and days on which clocks are changed. */
  @ParameterizedTest
  @CsvSource({
    "2024-02-10T12:00:00Z, MONTH, , 2024-01-31T23:00:00Z, 2024-02-29T23:00:00Z",
    "2024-02-10T12:00:00Z, MONTH, 2024-01-31T00:00, 2024-01-30T23:00:00Z, 2024-02-28T23:00:00Z",
    "2024-03-31T12:00:00Z, DAY, , 2024-03-30T23:00:00Z, 2024-03-31T22:00:00Z",
    "2024-10-27T12:00:00Z, WEEK, , 2024-10-20T22:00:00Z, 2024-10-27T23:00:00Z",
    "2024-12-31T22:59:59.999999Z, YEAR, , 2023-12-31T23:00:00Z, 2024-12-31T23:00:00Z"
  })
  default void ofACalendarItIsThePeriodThatHoldsNow(
      Instant now, CalendarPeriod calendar, LocalDateTime anchor, Instant begin, Instant end) {
    at(now);
    Alignment berlin = Alignment.to(ZoneId.of("Europe/Berlin")).each(calendar);
    FixedWindowRule rule =
        FixedWindowRule.aligned(10, calendar, berlin.zone())
            .alignedTo(anchor == null ? berlin : berlin.from(anchor));
    LimitRequest call = call(rule);
    assertThat(usage(call)).as("unused").containsExactly(of(rule, 0, begin, end));
    acquire(call.withCost(7));
    assertThat(usage(call)).containsExactly(of(rule, 7, begin, end));
    at(end);
    assertThat(usage(call).get(0).used()).isZero();
    assertThat(usage(call).get(0).begin()).contains(end);
  }

  /** From the first of November to December 20: until then units count, whatever their day. */
  @Test
  default void aPeriodThatGoesOnUnderAnotherDayHasItsOwnEnd() {
    Instant first = Instant.parse("2026-11-01T00:00:00Z");
    at(first);
    acquire(call(billed(1)));
    assertThat(usage(call(billed(1))))
        .containsExactly(of(billed(1), 1, first, Instant.parse("2026-12-01T00:00:00Z")));

    at(Instant.parse("2026-11-10T00:00:00Z"));
    assertThat(usage(call(billed(20))))
        .containsExactly(
            new Usage(
                billed(20),
                1,
                9,
                Optional.empty(),
                Optional.of(Instant.parse("2026-12-20T00:00:00Z"))));
  }

  private static Rule billed(int day) {
    return FixedWindowRule.of(10, Duration.ofDays(31))
        .alignedTo(
            Alignment.to(ZoneId.of("UTC"))
                .each(CalendarPeriod.MONTH)
                .forSubject(LocalDate.of(2024, 1, day)));
  }

  @Test
  default void aWindowThatBeginsWithACallHasNoPeriodBefore() {
    FixedWindowRule rule = FixedWindowRule.of(10, MINUTE);
    LimitRequest call = call(rule);
    assertThat(usage(call)).containsExactly(withoutPeriod(rule, 0));
    Instant first = now();
    Verdict admitted = acquire(call);
    Usage once = of(rule, 1, first, first.plus(MINUTE));
    assertThat(admitted.usage()).as("of an admitted call").containsExactly(once);
    advance(SECOND);
    assertThat(usage(call)).containsExactly(once);
    assertThat(usage(call)).as("counts nothing").containsExactly(once);
  }

  @Test
  default void aSlidingWindowEndsNowAndIsEmptyOnceTheLastUnitHasLeft() {
    Rule log = rule(10, MINUTE);
    Rule counter = SlidingWindowCounterRule.of(10, MINUTE).withName("counter");
    at("2024-06-01T12:00:00Z");
    LimitRequest call = call(log, counter);
    acquire(call.withCost(3));
    advance(SECOND);
    Instant begin = now().minus(MINUTE);
    List<Usage> usage = usage(call);
    assertThat(usage.get(0))
        .isEqualTo(of(log, 3, begin, begin.plus(MINUTE.multipliedBy(2)).minus(SECOND)));
    assertThat(usage.get(1).begin()).contains(begin);
    assertThat(usage.get(1).used()).isEqualTo(3);
    assertThat(usage.get(1).end().orElseThrow())
        .isAfter(now())
        .isBefore(now().plus(MINUTE.multipliedBy(2)));
  }

  @Test
  default void aBucketIsFullAgainAtItsEnd() {
    Rule bucket = TokenBucketRule.of(10, 10, SECOND); // one in 100 ms
    LimitRequest call = call(bucket);
    acquire(call.withCost(4));
    assertThat(usage(call))
        .containsExactly(
            new Usage(
                bucket, 4, 6, Optional.empty(), Optional.of(now().plus(Duration.ofMillis(400)))));
  }

  @Test
  default void callsInFlightHaveNoPeriod() {
    ConcurrencyLimitRule rule = ConcurrencyLimitRule.of(3);
    LimitRequest call = call(rule);
    acquire(call);
    assertThat(usage(call)).containsExactly(withoutPeriod(rule, 1));
  }

  @Test
  default void aCountBelowWhatIsUsedIsUsedUp() {
    acquire(call(FixedWindowRule.of(10, MINUTE)).withCost(8));
    Usage usage = usage(call(FixedWindowRule.of(5, MINUTE))).get(0);
    assertThat(usage.used()).isEqualTo(5);
    assertThat(usage.left()).isZero();
  }

  /** At the share exactly, although 0.07 × 100 is more than 7 in doubles. */
  @ParameterizedTest
  @CsvSource({
    "0.8, 10, 8",
    "0.07, 100, 7",
    "0.55, 100, 55",
    "0.333, 10, 4",
    "1, 3, 3",
    "0.000001, 10, 1",
    "0.999999999, 1000000000, 999999999",
    "0.000001, 999999999999999, 1000000000"
  })
  default void aRuleIsNearItsLimitFromItsShareOn(double share, long count, int from) {
    Policy policy = Policy.of("policy", FixedWindowRule.of(count, MINUTE)).withWarnAt(share);
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    for (int rest = from - 1; rest > 0; rest -= Charge.MAX_COST) {
      assertThat(acquire(call.withCost(Math.min(rest, Charge.MAX_COST))).nearLimit()).isFalse();
    }
    assertThat(peek(call).nearLimit()).isFalse();
    assertThat(acquire(call).nearLimit()).isTrue();
    assertThat(peek(call).nearLimit()).isTrue();
    advance(MINUTE);
    assertThat(peek(call).nearLimit()).isFalse();
  }

  @Test
  default void itIsNearALimitIfOneOfItsRulesIs() {
    Policy policy =
        Policy.of("policy", rule(10, MINUTE), LeakyBucketRule.of(1, SECOND, 4, MINUTE))
            .withWarnAt(0.5);
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    assertThat(acquire(call).nearLimit()).isFalse();
    assertThat(acquire(call).nearLimit()).isFalse();
    Verdict third = acquire(call);
    assertThat(third.nearLimit()).as("half of the places are taken").isTrue();
    assertThat(third.rules().get(0).nearLimit()).isFalse();
    assertThat(third.rules().get(1).nearLimit()).isTrue();
  }

  @Test
  default void whatIsOnlyObservedHasNoLimitToComeNear() {
    Policy policy = Policy.of("policy", rule(1, MINUTE)).withWarnAt(0.5);
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    assertThat(acquire(call.observe()).nearLimit()).isFalse();
    assertThat(acquire(call).nearLimit()).as("denied").isTrue();
  }

  @Test
  default void aRuleThatAdmitsNothingHasNoLimitToComeNear() {
    Policy policy = Policy.of("policy", FixedWindowRule.of(0, MINUTE)).withWarnAt(0.5);
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    Verdict denied = acquire(call);
    assertThat(denied.allowed()).isFalse();
    assertThat(denied.nearLimit()).isFalse();
  }

  @Test
  default void withoutAShareNothingIsNear() {
    LimitRequest call = call(rule(1, MINUTE));
    acquire(1, call);
    assertThat(acquire(call).nearLimit()).isFalse();
  }
}
