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

  /** A log keeps as many units as its longest window has, though the count was lowered. */
  @ParameterizedTest
  @ValueSource(ints = {10, 150, 400})
  default void aLoweredCountKeepsTheUnitsOfTheLargerOne(int units) {
    LimitRequest large = call(rule(500, HOUR), rule(450, MINUTE));
    LimitRequest small = call(rule(5, HOUR), rule(5, MINUTE));
    acquire(1, large.withCost(units));
    assertLimited(small);
    assertThat(record(small.withCost(3)).allowed()).isTrue();
    assertLeft(large, 500L - units, 450L - units);
    assertThat(storedLength(large)).isLessThan(400 + 24 * units);
    advance(HOUR);
    acquire(1, small);
    assertLeft(small, 4L, 4L);
    assertLeft(large, 499L, 449L);
    assertThat(storedLength(small)).isLessThan(200);
  }

  /** The state of the longer window is another one, and expires by itself. */
  @Test
  default void theStateShrinksOnceUnitsHaveLeft() {
    LimitRequest call = call(rule(30_000, MINUTE));
    acquire(1, call.withCost(20_000));
    int most = storedLength(call);
    for (int minute = 0; minute < 3; minute++) {
      advance(MINUTE);
      acquire(1, call.withCost(100));
    }
    assertLeft(call, 29_900L);
    assertThat(storedLength(call)).isLessThan(most / 20);
  }

  @ParameterizedTest
  @CsvSource({"120, 0", "120, 60", "120, 119", "400, 0", "400, 50", "400, 200", "400, 399"})
  default void aRefundAmongOthersTakesItsOwnUnits(int units, int which) {
    LimitRequest large = call(rule(1_000, HOUR), rule(998, SECOND));
    LimitRequest small = call(rule(999, HOUR), rule(997, SECOND));
    List<Verdict> taken = new ArrayList<>();
    for (int i = 0; i < units; i++) {
      taken.add(acquire(i % 5 == 0 ? large : small));
      advance(TICK.multipliedBy(1_000));
    }
    advance(SECOND.multipliedBy(30));
    assertThat(refund(taken.get(which))).isEqualTo(1);
    assertLeft(large, 1_001L - units, 998L);
    assertLeft(small, 1_000L - units, 997L);
    assertThat(refund(taken.get(which))).isZero();
    acquire(1, small);
    acquire(1, large);
    assertLeft(large, 999L - units, 996L);
    for (Verdict verdict : taken) {
      assertThat(refund(verdict)).isEqualTo(verdict == taken.get(which) ? 0 : 1);
    }
    assertLeft(large, 998L, 996L);
  }

  /** All are given back in a random order. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  default void refundsInAnyOrderLeaveTheOtherUnits(int seed) {
    Random random = new Random(seed);
    LimitRequest one = call(rule(1_000, HOUR), rule(900, MINUTE));
    LimitRequest other = call(rule(950, HOUR), rule(800, MINUTE));
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
      assertLeft(other, 950L - units, 800L - units);
    }
    while (!taken.isEmpty()) {
      units -= (int) refund(taken.remove(random.nextInt(taken.size())));
      assertLeft(other, 950L - units, 800L - units);
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
