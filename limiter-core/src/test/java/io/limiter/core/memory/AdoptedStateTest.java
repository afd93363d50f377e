// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore.SeenUse;
import io.limiter.core.LimitStore.SeenUse.PastUnits;
import io.limiter.core.LimitStore.SeenUse.RuleUse;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What a store in memory continues with from the verdict of another store. */
class AdoptedStateTest {

  private static final long S = 1_000_000;
  private static final long START = 1_700_000_000 * S;

  private long micros = START;
  private final MemoryStore store = new MemoryStore(2, () -> micros);

  private static LimitRequest call(Rule... rules) {
    return LimitRequest.of(Policy.of("adopted", rules), new Subject("user", "ada"));
  }

  private static RuleUse use(long remaining, long returning, long returns, long resets) {
    return new RuleUse(remaining, returning, returns * S, resets * S);
  }

  private void adopt(LimitRequest call, SeenUse known) {
    store.adopt(call.charge(0), known);
  }

  private Verdict peek(LimitRequest call) {
    return store.decide(call, Mode.PEEK).toCompletableFuture().join();
  }

  /**
   * Five seconds after the verdict. In the minute two units are 45 s old, four 15 s, and one that
   * was taken since is 2 s old; of the two that only the hour counts, one is 1,805 s old, and the
   * other just older than the minute.
   */
  @ParameterizedTest
  @CsvSource({
    "0, 3, 11",
    "14.999999, 3, 11",
    "15, 5, 11",
    "44.999999, 5, 11",
    "45, 9, 11",
    "57.999999, 9, 11",
    "58, 10, 11",
    "1794.999999, 10, 11",
    "1795, 10, 12",
    "3534.999999, 10, 12",
    "3535, 10, 13",
    "3554.999999, 10, 13",
    "3555, 10, 15",
    "3585, 10, 19",
    "3598, 10, 20"
  })
  void unitsOfALogReturnWhenTheVerdictSays(double seconds, long minute, long hour) {
    LimitRequest call = call(rule(20, HOUR), rule(10, MINUTE));
    adopt(
        call,
        new SeenUse(
            5 * S,
            List.of(use(12, 1, 1_800, 3_590), use(4, 2, 20, 50)),
            0,
            List.of(new PastUnits(2 * S, 1))));

    micros = START + Math.round(seconds * S);

    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(hour, minute);
  }

  /** The longer window counts what the shorter one does, and no unit twice. */
  @Test
  void aWindowThatCountsNoMoreAddsNothing() {
    LimitRequest call = call(rule(10, MINUTE), rule(20, HOUR));
    adopt(call, new SeenUse(0, List.of(use(7, 1, 60, 60), use(17, 1, 3_600, 3_600)), 0, List.of()));

    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(7L, 17L);
  }

  static Stream<Arguments> windows() {
    FixedWindowRule month = FixedWindowRule.aligned(10, CalendarPeriod.MONTH, ZoneOffset.UTC);
    Alignment byCalendar = month.alignment().orElseThrow();
    LocalDate day = LocalDate.of(2023, 11, 15); // it begins 6,400 s after the start
    FixedWindowRule bySubject = month.alignedTo(byCalendar.forSubject(day));
    long days = 86_400;
    return Stream.of(
        arguments(FixedWindowRule.of(10, MINUTE), 40, 40),
        arguments(month.alignedTo(byCalendar.from(day.atStartOfDay())), 6_400, 6_400),
        arguments(bySubject, 6_400, 6_400),
        arguments(bySubject, 20 * days, 30 * days + 6_400)); // it has begun by another day
  }

  @ParameterizedTest
  @MethodSource("windows")
  void aWindowEndsAsTheVerdictSays(FixedWindowRule rule, long resets, long ends) {
    LimitRequest call = call(rule);
    adopt(call, new SeenUse(0, List.of(use(7, 1, resets, resets)), 0, List.of()));
    micros = START + ends * S - 1;
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(7);
    micros++;
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(10);
  }

  /** A bucket does not fill before the verdict arrived. */
  @Test
  void whatWasTakenBeforeTheVerdictCountsFromThen() {
    LimitRequest call = call(TokenBucketRule.of(10, 1, SECOND));
    adopt(
        call,
        new SeenUse(
            3 * S,
            List.of(use(8, 1, 1, 2)),
            0,
            List.of(new PastUnits(9 * S, 2), new PastUnits(S, 3))));

    assertThat(peek(call).rules().get(0).remaining()).as("4 at -3 s, 2 + 3 at -1 s").isEqualTo(6);
  }

  /** A refill that seems to come in 4 s may have come before the units were taken. */
  @ParameterizedTest
  @CsvSource({"1, 4", "2, 10"})
  void aBucketThatLacksTokensForUnitsFromBeforeTheVerdictWaitsAWholeInterval(
      int units, long seconds) {
    LimitRequest call = call(TokenBucketRule.of(10, 5, SECOND.multipliedBy(10)).byInterval());
    adopt(call, new SeenUse(0, List.of(use(1, 5, 4, 14)), 0, List.of(new PastUnits(0, units))));

    micros = START + seconds * S - 1;
    assertThat(peek(call).rules().get(0).remaining()).isZero();
    micros++;
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(5);
  }

  /** They may have begun the next one while the verdict was on its way. */
  @Test
  void aWindowWithUnitsFromBeforeTheVerdictLastsFromThen() {
    LimitRequest call = call(FixedWindowRule.of(10, MINUTE));
    adopt(
        call, new SeenUse(3 * S, List.of(use(8, 1, 10, 10)), 0, List.of(new PastUnits(9 * S, 2))));

    micros = START + 57 * S - 1;
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(6);
    micros++;
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(10);
  }

  @Test
  void nothingIsKeptWhereNothingIsUsed() {
    adopt(call(rule(10, MINUTE)), new SeenUse(0, List.of(use(10, 1, 60, 0)), 0, List.of()));
    adopt(call(rule(10, MINUTE)), new SeenUse(0, List.of(), 0, List.of()));
    assertThat(store.subjects()).isZero();

    adopt(call(rule(10, MINUTE)), new SeenUse(0, List.of(use(9, 1, 60, 60)), 0, List.of()));
    assertThat(store.subjects()).isEqualTo(1);
    adopt(call(rule(10, MINUTE)), new SeenUse(0, List.of(), 0, List.of()));
    assertThat(store.subjects()).as("what is adopted replaces what was kept").isZero();
  }

  @Test
  void aFullStoreAdoptsNoMore() {
    SeenUse known = new SeenUse(0, List.of(use(4, 1, 60, 60)), 0, List.of());
    for (String user : List.of("a", "b", "c")) {
      Charge charge =
          LimitRequest.of(Policy.of("adopted", rule(10, MINUTE)), new Subject("user", user))
              .charge(0);
      store.adopt(charge, known);
    }
    assertThat(store.subjects()).isEqualTo(2);
    store.close();
    adopt(call(rule(10, MINUTE)), known);
    assertThat(store.subjects()).isZero();
  }

  /** They are among the units that were taken since the verdict. */
  @Test
  void aCallMayGiveBackItsUnitsAfterTheStateWasAdoptedAgain() {
    LimitRequest call = call(FixedWindowRule.of(10, MINUTE));
    adopt(call, new SeenUse(0, List.of(use(7, 1, 60, 60)), 0, List.of()));
    micros += S;
    Verdict admitted = store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
    micros += S;
    adopt(call, new SeenUse(2 * S, List.of(use(7, 1, 60, 60)), 0, List.of(new PastUnits(S, 1))));
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(6);

    assertThat(admitted.reservation().refund()).isCompletedWithValue(1L);

    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(7);
  }
}
