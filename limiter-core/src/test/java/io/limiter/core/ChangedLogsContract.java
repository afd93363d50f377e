// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The rules of a log change while it is in use: at once, or, while a service is deployed, back and
 * forth. Logs are so short that a store may write them at once, or so long that it may not.
 */
public interface ChangedLogsContract extends StoreHarness {

  private void assertLeft(LimitRequest call, Long... units) {
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(units);
  }

  private int storedLength(LimitRequest call) {
    return stored(call).get(0).orElse("").length();
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 117, 150, 400})
  default void aLongerWindowIsReckonedWithUntilItHasPassed(int units) {
    LimitRequest hourly = call(rule(500, HOUR));
    LimitRequest brief = call(rule(450, MINUTE));
    acquire(1, hourly.withCost(units));
    advance(MINUTE.multipliedBy(30));
    acquire(1, brief.withCost(5));
    advance(MINUTE.multipliedBy(30).minus(TICK));
    acquire(2, brief);
    assertLeft(hourly, 500L - 7 - units);
    assertLeft(brief, 448L);
    int before = storedLength(brief);
    advance(TICK);
    acquire(1, brief);
    assertLeft(hourly, 497L);
    assertThat(storedLength(brief)).as("less is remembered").isLessThan(before);
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 400})
  default void theStateShrinksOnceAWindowIsShortened(int perMinute) {
    LimitRequest before = call(rule(30_000, HOUR));
    LimitRequest after = call(rule(30_000, MINUTE));
    for (int minute = 0; minute < 60; minute++) {
      advance(MINUTE);
      acquire(1, before.withCost(perMinute));
    }
    int most = storedLength(before);
    for (int minute = 0; minute < 61; minute++) {
      advance(MINUTE);
      acquire(1, after.withCost(perMinute));
    }
    assertLeft(after, 30_000L - perMinute);
    assertThat(storedLength(after)).isLessThan(most / 20);
  }

  /** It is used again before it has passed, and so it never lapses. */
  @ParameterizedTest
  @ValueSource(ints = {2, 150})
  default void aLongerWindowThatIsUsedIsKept(int units) {
    LimitRequest hourly = call(rule(2_000, HOUR), rule(1_900, HOUR.dividedBy(2)));
    LimitRequest brief = call(rule(1_000, MINUTE));
    for (int i = 1; i <= 10; i++) {
      advance(MINUTE.multipliedBy(5));
      acquire(1, brief.withCost(units));
      acquire(1, hourly);
    }
    assertLeft(hourly, 2_000L - 10 * (units + 1), 1_900L - 6 * (units + 1));
    assertLeft(brief, 999L - units);
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 150})
  default void aLengthenedWindowCountsExistingUnitsAndKeepsThemFromThenOn(int units) {
    LimitRequest brief = call(rule(1_000, MINUTE));
    LimitRequest hourly = call(rule(2_000, HOUR));
    acquire(1, brief.withCost(units));
    advance(MINUTE.plus(TICK));
    assertLeft(hourly, 2_000L - units);
    acquire(1, hourly);
    for (int i = 1; i < 59; i++) {
      acquire(1, brief.withCost(2));
      advance(MINUTE);
    }
    assertLeft(hourly, 1_999L - units - 2 * 58);
  }

  @ParameterizedTest
  @CsvSource({"1, 3", "3, 1", "1, 8", "8, 1", "4, 5", "5, 4", "7, 8", "2, 6"})
  default void anotherNumberOfRulesCountsTheSame(int before, int after) {
    LimitRequest old = ofSeveral(before);
    LimitRequest now = ofSeveral(after);
    for (int i = 0; i < 300; i++) {
      advance(SECOND.multipliedBy(20));
      LimitRequest call = i < 200 || i % 3 == 0 ? old : now;
      acquire(1, call);
      if (i % 10 == 0) {
        assertThat(peek(old).rules().subList(0, Math.min(before, after)))
            .isEqualTo(peek(now).rules().subList(0, Math.min(before, after)));
        for (RuleVerdict rule : peek(now).rules()) {
          long lasts = rule.rule().window().dividedBy(SECOND.multipliedBy(20));
          assertThat(rule.remaining()).isEqualTo(1_000 - Math.min(i + 1, lasts));
        }
      }
    }
  }

  private static LimitRequest ofSeveral(int rules) {
    List<Rule> made = new ArrayList<>();
    for (int i = 0; i < rules; i++) {
      made.add(rule(1_000, HOUR.multipliedBy(2).minus(MINUTE.multipliedBy(13L * i))));
    }
    return call(made.toArray(Rule[]::new));
  }

  @ParameterizedTest
  @CsvSource({"120, 0", "120, 60", "120, 119", "400, 0", "400, 50", "400, 200", "400, 399"})
  default void aRefundAmongOthersTakesItsOwnUnits(int units, int which) {
    LimitRequest hourly = call(rule(1_000, HOUR));
    LimitRequest brief = call(rule(999, MINUTE), rule(998, SECOND));
    List<Verdict> taken = new ArrayList<>();
    for (int i = 0; i < units; i++) {
      taken.add(acquire(i % 5 == 0 ? hourly : brief));
      advance(TICK.multipliedBy(1_000));
    }
    advance(SECOND.multipliedBy(30));
    assertThat(refund(taken.get(which))).isEqualTo(1);
    assertLeft(hourly, 1_001L - units);
    assertLeft(brief, 1_000L - units, 998L);
    assertThat(refund(taken.get(which))).isZero();
    advance(SECOND.multipliedBy(30));
    assertLeft(hourly, 1_001L - units);
    assertLeft(brief, 999L, 998L);
    acquire(1, brief);
    acquire(1, hourly);
    assertLeft(hourly, 999L - units);
    for (Verdict verdict : taken) {
      assertThat(refund(verdict)).isEqualTo(verdict == taken.get(which) ? 0 : 1);
    }
    assertLeft(hourly, 998L);
    assertLeft(brief, 997L, 996L);
  }

  /** All are given back in a random order. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  default void refundsInAnyOrderLeaveTheOtherUnits(int seed) {
    Random random = new Random(seed);
    LimitRequest one = call(rule(1_000, HOUR), rule(900, MINUTE));
    LimitRequest other = call(rule(800, HOUR.dividedBy(2)));
    List<Verdict> taken = new ArrayList<>();
    int units = 0;
    for (int i = 0; i < 300; i++) {
      if (random.nextInt(3) > 0 || taken.isEmpty()) {
        Verdict verdict = acquire((random.nextBoolean() ? one : other).withCost(1 + i % 3));
        taken.add(verdict);
        units += 1 + i % 3;
      } else {
        int which = random.nextInt(taken.size());
        long given = refund(taken.remove(which));
        assertThat(given).isBetween(1L, 3L);
        units -= (int) given;
      }
      advance(TICK.multipliedBy(random.nextInt(3)));
      assertLeft(one, 1_000L - units, 900L - units);
      assertLeft(other, 800L - units);
    }
    while (!taken.isEmpty()) {
      units -= (int) refund(taken.remove(random.nextInt(taken.size())));
      assertLeft(other, 800L - units);
    }
    assertThat(units).isZero();
    assertThat(stored(one).get(0)).isEmpty();
  }

  /** Whatever the other rules are: units admitted by a stack are kept for its windows. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6})
  default void inTurnNoStackAdmitsMoreThanItsOwnCountInAnyOfItsWindows(int seed) {
    Random random = new Random(seed);
    int scale = seed % 2 == 0 ? 10 : 1;
    List<LimitRequest> calls = new ArrayList<>();
    List<List<Instant>> admitted = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Rule first = rule(scale * (5 + random.nextInt(25)), Duration.ofSeconds(10 + 20L * i));
      Rule second = rule(scale * (5 + random.nextInt(35)), Duration.ofSeconds(7 + 10L * i));
      calls.add(call(first, second));
      admitted.add(new ArrayList<>());
    }
    for (int step = 0; step < 1_500; step++) {
      advance(Duration.ofMillis(random.nextInt(random.nextInt(60) == 0 ? 60_000 : 900 / scale)));
      int which = step / 100 % 4 == 3 ? random.nextInt(3) : step / 100 % 4;
      LimitRequest call = calls.get(which);
      int cost = random.nextInt(9) == 0 ? 1 + random.nextInt(scale) : 1;
      if (acquire(call.withCost(cost)).allowed()) {
        List<Instant> times = admitted.get(which);
        for (int i = 0; i < cost; i++) {
          times.add(now());
        }
        for (Rule rule : call.charge(0).stack().rules()) {
          Instant edge = now().minus(rule.window());
          assertThat(times.stream().filter(time -> time.isAfter(edge)).count())
              .as("seed %d, step %d, %s", seed, step, rule)
              .isLessThanOrEqualTo(rule.capacity());
        }
      }
    }
  }

  @Test
  default void aRecordBeyondTheCountIsNoLongerThanTheLogMayBe() {
    LimitRequest call = call(rule(300, MINUTE));
    acquire(10, call);
    int cost = Charge.MAX_COST;
    assertThat(record(call.withCost(cost)).allowed()).isTrue();
    assertLeft(call, 0L);
    assertThat(storedLength(call)).isLessThan(50_000);
    advance(MINUTE);
    assertLeft(call, 300L);
  }
}
