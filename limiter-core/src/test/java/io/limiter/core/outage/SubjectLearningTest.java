// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStore.SeenUse.PastUnits;
import io.limiter.core.LimitStore.SeenUse.RuleUse;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What each subject of a call learns from its verdict, and how many subjects are known. */
class SubjectLearningTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Rule TEN = SlidingWindowLogRule.of(10, MINUTE);
  private static final Rule TWENTY = SlidingWindowLogRule.of(20, MINUTE.multipliedBy(2));
  private static final Rule THIRTY = SlidingWindowLogRule.of(30, MINUTE.multipliedBy(3));
  private static final Rule ONCE = SlidingWindowLogRule.of(1, MINUTE);

  private static final Charge USER = charge("user", TEN, TWENTY);
  private static final Charge ORG = charge("org", THIRTY).withCost(3);
  private static final Charge GUARD = charge("guard", ONCE);
  private static final LimitRequest CALL =
      new LimitRequest(Policy.of("known", TEN), List.of(USER, ORG), Optional.of(GUARD));

  private long nanos = -5;
  private final LastSeenTable table = new LastSeenTable(10, () -> nanos);

  private static Charge charge(String subject, Rule... rules) {
    return Charge.of("known", new Subject("test", subject), RuleStack.of(List.of(rules)));
  }

  private static RuleVerdict rule(Rule rule, long remaining) {
    return RuleVerdict.of(rule).remaining(remaining).build();
  }

  private static Verdict.Builder verdict(long user, long user2, long org) {
    return Verdict.of(CALL.policy(), Outcome.ALLOWED)
        .rules(List.of(rule(TEN, user), rule(TWENTY, user2), rule(THIRTY, org)));
  }

  /** The store is asked, and answers now. */
  private void learn(Verdict verdict) {
    table.call(CALL).answered(verdict);
  }

  /** The units left of each charge's rules that a fallback adopts. */
  private Map<Charge, List<Long>> adopted() {
    return adopt(known -> known.rules().stream().map(RuleUse::remaining).toList());
  }

  /** The units under way or not yet reported. */
  private Map<Charge, List<Long>> since() {
    return adopt(known -> known.since().stream().map(PastUnits::units).toList());
  }

  private <T> Map<Charge, T> adopt(Function<LimitStore.SeenUse, T> what) {
    ContinuedCall call = table.call(CALL);
    call.unanswered();
    return adopt(call, what);
  }

  private static <T> Map<Charge, T> adopt(
      ContinuedCall call, Function<LimitStore.SeenUse, T> what) {
    Map<Charge, T> found = new LinkedHashMap<>();
    LimitStore local = thatAdopts((charge, use) -> found.put(charge, what.apply(use)));
    assertThat(call.decide(local, () -> "decided")).isEqualTo("decided");
    return found;
  }

  /** A store that only adopts. */
  private static LimitStore thatAdopts(BiConsumer<Charge, LimitStore.SeenUse> adopts) {
    return new LimitStore() {
      @Override
      public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
        return CompletableFuture.failedFuture(new UnsupportedOperationException());
      }

      @Override
      public void adopt(Charge charge, SeenUse use) {
        adopts.accept(charge, use);
      }

      @Override
      public CompletionStage<Void> reset(Collection<StateKey> keys) {
        return CompletableFuture.completedFuture(null);
      }

      @Override
      public void close() {}
    };
  }

  @Test
  void eachSubjectLearnsItsOwnRules() {
    learn(verdict(1, 2, 3).duplicate(rule(ONCE, 0)).build());

    assertThat(adopted())
        .containsOnly(
            Map.entry(USER, List.of(1L, 2L)),
            Map.entry(ORG, List.of(3L)),
            Map.entry(GUARD, List.of(0L)));
    assertThat(adopted()).as("nothing more is under way").isEmpty();
  }

  /**
   * Redis decides the first charge at the time of the verdict; the others may be of other nodes, so
   * the one that was asked later counts.
   */
  @Test
  void onlyTheFirstSubjectsVerdictsHaveAnOrder() {
    ContinuedCall first = table.call(CALL);
    nanos++;
    ContinuedCall second = table.call(CALL);
    first.answered(verdict(5, 5, 5).decidedAtMicros(100).build());
    second.answered(verdict(3, 3, 3).decidedAtMicros(99).build());

    assertThat(adopted()).containsEntry(USER, List.of(5L, 5L)).containsEntry(ORG, List.of(3L));
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "STORE")
  void nothingIsLearntFromAnotherStoresVerdict(DecidedBy other) {
    Verdict verdict = verdict(1, 2, 3).decidedBy(other).build();
    ContinuedCall call = table.call(CALL);
    call.learn(verdict);
    assertThat(since()).as("late").containsEntry(USER, List.of(1L));

    call.answered(verdict);

    assertThat(since()).containsEntry(USER, List.of());
    assertThat(adopted()).as("nothing more").isEmpty();
  }

  /** Units beyond the most that any rule of the charge counts have come back. */
  @Test
  void whatTheFallbackAdmitsIsReportedAsFarAsItsRulesCountIt() {
    Verdict verdict = verdict(8, 17, 28).duplicate(rule(ONCE, 0)).build();
    for (int i = 0; i < 4; i++) {
      admitted(verdict);
    }

    assertThat(table.call(CALL).asked().past())
        .extracting(PastCharge::charge)
        .containsExactly(USER.withCost(3), ORG.withCost(3), GUARD.withCost(1));
  }

  private ContinuedCall.UnreportedReservation admitted(Verdict verdict) {
    ContinuedCall call = table.call(CALL);
    call.unanswered();
    return call.admitted(verdict);
  }

  @Test
  void aReportThatWasNotSentIsSentWithTheNextCall() {
    var unused = admitted(verdict(9, 19, 27).duplicate(rule(ONCE, 0)).build());
    ContinuedCall bringing = table.call(CALL);

    bringing.unanswered();

    assertThat(table.call(CALL).asked().past())
        .extracting(PastCharge::charge)
        .isEqualTo(bringing.asked().past().stream().map(PastCharge::charge).toList());
  }

  @Test
  void subjectsWithoutRoomOrWithPermitsAreNotKnown() {
    LastSeenTable none = new LastSeenTable(0, () -> nanos);
    Verdict verdict = verdict(1, 2, 3).duplicate(rule(ONCE, 0)).build();
    ContinuedCall unknown = none.call(CALL);
    unknown.unanswered();
    unknown.answered(verdict);
    none.forget(List.of(USER.key()));
    none.liftBans(List.of(USER.key()));
    ContinuedCall.UnreportedReservation taken = unknown.admitted(verdict);
    taken.takenByTheStore(Reservation.NOTHING);
    assertThat(taken.refund()).isCompletedWithValue(0L);
    LimitStore nothing = thatAdopts((charge, use) -> fail("adopts"));
    assertThat(unknown.decide(nothing, () -> "decided")).isEqualTo("decided");
    assertThat(none.call(CALL).asked()).isSameAs(CALL);

    ContinuedCall flight = table.call(request(charge("flight", ConcurrencyLimitRule.of(1))));
    assertThat(flight.decide(nothing, () -> "decided")).isEqualTo("decided");
  }

  private static LimitRequest request(Charge charge) {
    return new LimitRequest(Policy.of("known", TEN), List.of(charge), Optional.empty());
  }

  /** Asks about a subject, without an answer; returns whether it is known. */
  private static boolean knows(LastSeenTable table, String subject) {
    ContinuedCall call = table.call(request(charge(subject, TEN)));
    boolean[] adopts = new boolean[1];
    LimitStore local = thatAdopts((charge, use) -> adopts[0] = true);
    call.decide(local, () -> "decided");
    call.unanswered();
    return adopts[0];
  }

  /** The calls of one call's thread must not take longer the more subjects there are. */
  @Test
  void aNewKeyInspectsFewOfAFullTable() {
    int size = 1_000;
    LastSeenTable full = new LastSeenTable(size, () -> nanos);
    Map<String, ContinuedCall> calls = new LinkedHashMap<>();
    for (int i = 0; i < size; i++) {
      calls.put("subject" + i, full.call(request(charge("subject" + i, TEN))));
    }
    calls.values().forEach(call -> call.answered(verdict(5, 5, 5).build()));
    nanos += MINUTE.multipliedBy(9).toNanos(); // all have expired

    assertThat(knows(full, "new")).isTrue();

    assertThat(adopting(calls)).as("still known").isBetween(size - 16L, size - 1L);
  }

  /** How many of these calls' subjects still have what they have learnt. */
  private static long adopting(Map<String, ContinuedCall> calls) {
    return calls.values().stream()
        .filter(
            call -> {
              boolean[] known = new boolean[1];
              LimitStore local = thatAdopts((charge, use) -> known[0] = !use.rules().isEmpty());
              return call.decide(local, () -> known[0]);
            })
        .count();
  }

  /** Keys without a verdict and without units are expired at once. */
  @Test
  void expiredKeysMakeRoomWhileThoseThatAreNeededStay() {
    int size = 100;
    LastSeenTable full = new LastSeenTable(size, () -> nanos);
    List<ContinuedCall> underWay = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      underWay.add(full.call(request(charge("subject" + i, TEN))));
    }
    for (int i = 0; i < size; i++) {
      assertThat(knows(full, "other" + i)).isFalse();
    }

    underWay.remove(size / 2).unanswered();

    assertThat(IntStream.range(0, size).filter(i -> knows(full, "other" + i)).count())
        .as("each takes the place of the one before")
        .isGreaterThan(size / 10);
    underWay.forEach(ContinuedCall::unanswered);
    assertThat(IntStream.range(0, size).allMatch(i -> knows(full, "new" + i))).isTrue();
  }

  /** In one order, whatever that of the charges: otherwise two calls could wait for each other. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void subjectsAreLockedInTheOrderOfTheirKeys(boolean oneTag) {
    RuleStack failures = USER.stack().withCounting(Counting.FAILURES);
    StateKey ofFailures = USER.key().of(failures);
    Charge other = oneTag ? new Charge("known", ofFailures, failures, 1) : ORG;
    int order = USER.key().tag().compareTo(other.key().tag());
    boolean userFirst =
        order < 0 || order == 0 && USER.key().name().compareTo(ofFailures.name()) < 0;
    Charge first = userFirst ? USER : other;
    Charge second = userFirst ? other : USER;
    LimitRequest call = new LimitRequest(CALL.policy(), List.of(second, first), Optional.empty());
    ContinuedCall both = table.call(call); // under way, so that each is adopted once it is locked

    assertThat(adopt(both, use -> 0).keySet()).containsExactly(first, second);
  }
}
