// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.LimitStore.KnownUse.PastUnits;
import io.limiter.core.store.LimitStore.KnownUse.RuleUse;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What each subject of a call learns from its verdict, and how many subjects are known. */
class SubjectLearningTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Rule TEN = SlidingWindowLog.of(10, MINUTE);
  private static final Rule TWENTY = SlidingWindowLog.of(20, MINUTE.multipliedBy(2));
  private static final Rule THIRTY = SlidingWindowLog.of(30, MINUTE.multipliedBy(3));
  private static final Rule ONCE = SlidingWindowLog.of(1, MINUTE);

  /** The common pool of two processors has one thread, and a blocked call would occupy it. */
  private static final Executor OWN_THREAD = task -> new Thread(task).start();

  private static final Charge USER = charge("user", TEN, TWENTY);
  private static final Charge ORG = charge("org", THIRTY).withCost(3);
  private static final Charge GUARD = charge("guard", ONCE);
  private static final LimitRequest CALL =
      new LimitRequest(Policy.of("known", TEN), List.of(USER, ORG), Optional.of(GUARD));

  private long nanos = -5;
  private final KnownSubjectTable table = new KnownSubjectTable(10, () -> nanos);
  private final KnownSubject[] known = table.of(CALL);

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
  private void learn(Verdict verdict, long askedNanos) {
    table.sent(CALL, known);
    table.learn(CALL, known, verdict, Mode.ACQUIRE, askedNanos, false);
  }

  /** The units left of each charge's rules that a fallback adopts. */
  private Map<Charge, List<Long>> adopted() {
    return adopt(known -> known.rules().stream().map(RuleUse::remaining).toList());
  }

  /** The units under way or not yet reported. */
  private Map<Charge, List<Integer>> since() {
    return adopt(known -> known.since().stream().map(PastUnits::units).toList());
  }

  private <T> Map<Charge, T> adopt(Function<LimitStore.KnownUse, T> what) {
    Map<Charge, T> found = new LinkedHashMap<>();
    LimitStore local = thatAdopts((charge, use) -> found.put(charge, what.apply(use)));
    assertThat(table.decide(CALL, known, local, () -> "decided")).isEqualTo("decided");
    return found;
  }

  /** A store that only adopts. */
  private static LimitStore thatAdopts(BiConsumer<Charge, LimitStore.KnownUse> adopts) {
    return new LimitStore() {
      @Override
      public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
        return CompletableFuture.failedFuture(new UnsupportedOperationException());
      }

      @Override
      public void adopt(Charge charge, KnownUse use) {
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
    learn(verdict(1, 2, 3).duplicate(rule(ONCE, 0)).build(), 0);

    assertThat(adopted())
        .containsOnly(
            Map.entry(USER, List.of(1L, 2L)),
            Map.entry(ORG, List.of(3L)),
            Map.entry(GUARD, List.of(0L)));
    assertThat(adopted()).as("nothing more is under way").isEmpty();
  }

  @Test
  void aVerdictWithoutTheGuardOrOfFewerRulesLeavesTheOthersUnknown() {
    Verdict first =
        Verdict.of(CALL.policy(), Outcome.ALLOWED)
            .rules(List.of(rule(TEN, 1), rule(TWENTY, 2)))
            .build();
    learn(first, 0);

    assertThat(adopted()).containsOnly(Map.entry(USER, List.of(1L, 2L)));
  }

  /**
   * Redis decides the first charge at the time of the verdict; the others may be of other nodes.
   */
  @Test
  void onlyTheFirstSubjectsVerdictsHaveAnOrder() {
    learn(verdict(5, 5, 5).decidedAtMicros(100).build(), 0);
    learn(verdict(3, 3, 3).decidedAtMicros(99).build(), nanos);

    assertThat(adopted()).containsEntry(USER, List.of(5L, 5L)).containsEntry(ORG, List.of(3L));
  }

  @Test
  void unitsAreUnderWayUntilTheCallIsAnswered() {
    table.sent(CALL, known);
    table.sent(CALL, known);
    table.unanswered(CALL, known);

    assertThat(since())
        .containsOnly(
            Map.entry(USER, List.of(1)), Map.entry(ORG, List.of(3)), Map.entry(GUARD, List.of(1)));
    Verdict verdict = verdict(1, 2, 3).duplicate(rule(ONCE, 0)).build();
    table.learn(CALL, known, verdict, Mode.ACQUIRE, 0, false);
    assertThat(since().values()).containsOnly(List.of());
  }

  @Test
  void aLateVerdictIsOfACallThatIsNoLongerUnderWay() {
    table.sent(CALL, known);
    table.learn(CALL, known, verdict(1, 2, 3).build(), Mode.ACQUIRE, 0, true);

    assertThat(since()).containsEntry(USER, List.of(1)).containsEntry(ORG, List.of(3));
    assertThat(adopted()).containsEntry(USER, List.of(1L, 2L));
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "STORE")
  void nothingIsLearntFromAnotherStoresVerdict(DecidedBy other) {
    Verdict verdict = verdict(1, 2, 3).decidedBy(other).build();
    table.sent(CALL, known);
    table.learn(CALL, known, verdict, Mode.ACQUIRE, 0, true);
    assertThat(since()).as("late").containsEntry(USER, List.of(1));

    table.learn(CALL, known, verdict, Mode.ACQUIRE, 0, false);

    assertThat(since()).containsEntry(USER, List.of());
    assertThat(adopted()).as("nothing more").isEmpty();
  }

  @Test
  void aCallWithoutAVerdictIsNoLongerUnderWay() {
    learn(null, 0);

    assertThat(adopted()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource
  void onlyAnAdmittedCallThatTookItsUnitsIsOwnUse(Mode mode) {
    table.sent(CALL, known);
    table.learn(CALL, known, verdict(1, 2, 3).build(), mode, 0, false);

    long own = mode == Mode.PEEK ? 0 : 3;
    assertThat(adopt(use -> use.rules().stream().map(RuleUse::ownUnits).toList()))
        .containsEntry(ORG, List.of(own));
  }

  @Test
  void aDeniedCallIsNoOwnUse() {
    Verdict denied =
        Verdict.of(CALL.policy(), Outcome.LIMITED)
            .rules(List.of(rule(TEN, 1), rule(TWENTY, 2), rule(THIRTY, 3)))
            .build();
    learn(denied, 0);

    assertThat(adopt(use -> use.rules().stream().map(RuleUse::ownUnits).toList()))
        .containsEntry(ORG, List.of(0L));
  }

  @Test
  void anAskAtTheTimeOfTheLastVerdictIsNotLater() {
    learn(verdict(5, 5, 5).build(), 0);
    nanos++;
    learn(verdict(7, 7, 7).build(), nanos - 1);
    assertThat(adopted()).containsEntry(USER, List.of(5L, 5L));
    learn(verdict(7, 7, 7).build(), nanos + 1);
    assertThat(adopted()).containsEntry(USER, List.of(7L, 7L));
  }

  /** Units beyond the most that any rule of the charge counts have come back. */
  @Test
  void whatTheFallbackAdmitsIsReportedAsFarAsItsRulesCountIt() {
    Verdict verdict = verdict(8, 17, 28).duplicate(rule(ONCE, 0)).build();
    for (int i = 0; i < 4; i++) {
      table.admitted(CALL, known, verdict, nanos);
    }

    assertThat(table.withPast(CALL, known, nanos).past())
        .extracting(PastCharge::charge)
        .containsExactly(USER.withCost(3), ORG.withCost(3), GUARD.withCost(1));
  }

  @Test
  void whatTheStoreHasRecordedIsOwedNoMore() {
    Verdict verdict = verdict(9, 19, 27).duplicate(rule(ONCE, 0)).build();
    var unused = table.admitted(CALL, known, verdict, nanos);
    LimitRequest brought = table.withPast(CALL, known, nanos);
    assertThat(brought.past()).hasSize(3);

    table.learn(brought, known, verdict, Mode.ACQUIRE, nanos, false);

    assertThat(table.withPast(CALL, known, nanos)).isSameAs(CALL);
  }

  @Test
  void aCallWaitsForNoSubjectIfNothingIsOwed() {
    Verdict verdict = verdict(9, 19, 27).duplicate(rule(ONCE, 0)).build();
    var unused = table.admitted(CALL, known, verdict, nanos);
    LimitRequest brought = table.withPast(CALL, known, nanos);
    table.learn(brought, known, verdict, Mode.ACQUIRE, nanos, false);

    synchronized (known[0]) {
      assertThat(
              CompletableFuture.supplyAsync(() -> table.withPast(CALL, known, nanos), OWN_THREAD))
          .succeedsWithin(Duration.ofSeconds(5))
          .isSameAs(CALL);
    }
  }

  /**
   * It was asked before the fallback admitted another call, and may be the first to be answered.
   */
  @Test
  void aCallThatCarriesNothingLeavesWhatIsOwed() {
    Verdict verdict = verdict(9, 19, 27).duplicate(rule(ONCE, 0)).build();
    var unused = table.admitted(CALL, known, verdict, nanos);

    learn(verdict, nanos);

    assertThat(table.withPast(CALL, known, nanos).past()).hasSize(3);
  }

  @Test
  void subjectsWithoutRoomOrWithPermitsAreNotKnown() {
    KnownSubjectTable none = new KnownSubjectTable(0, () -> nanos);
    KnownSubject[] unknown = none.of(CALL);
    assertThat(unknown).hasSize(3).containsOnlyNulls();
    assertThat(table.of(request(charge("flight", ConcurrencyLimitRule.of(1))))).containsOnlyNulls();

    // none of it fails, or is remembered
    none.sent(CALL, unknown);
    none.unanswered(CALL, unknown);
    Verdict verdict = verdict(1, 2, 3).duplicate(rule(ONCE, 0)).build();
    none.learn(CALL, unknown, verdict, Mode.ACQUIRE, 0, false);
    none.forget(List.of(USER.key()));
    none.liftBans(List.of(USER.key()));
    KnownSubjectTable.UnreportedReservation taken = none.admitted(CALL, unknown, verdict, nanos);
    taken.takenByTheStore();
    assertThat(taken.refund()).isCompletedWithValue(0L);
    none.owe(1);
    assertThat(none.withPast(CALL, unknown, nanos)).isSameAs(CALL);
  }

  /** Each has its own number. */
  @Test
  void idsOfPastUnitsAreUnique() {
    KnownSubjectTable other = new KnownSubjectTable(0, () -> nanos);
    List<String> ids = List.of(table.nextId(), table.nextId(), other.nextId(), other.nextId());

    assertThat(ids).doesNotHaveDuplicates().allMatch(id -> id.matches("[A-Za-z0-9_-]{16}[12]"));
  }

  private static LimitRequest request(Charge charge) {
    return new LimitRequest(Policy.of("known", TEN), List.of(charge), Optional.empty());
  }

  private static boolean knows(KnownSubjectTable table, String subject) {
    return table.of(request(charge(subject, TEN)))[0] != null;
  }

  /** Keys without a verdict and without units are expired at once. */
  @Test
  void aFullTableIsSearchedForExpiredKeysTenTimesASecondAtMost() {
    KnownSubjectTable two = new KnownSubjectTable(2, () -> nanos);
    assertThat(knows(two, "a")).isTrue();
    assertThat(knows(two, "b")).isTrue();
    assertThat(knows(two, "c")).as("after the first search").isTrue();
    assertThat(knows(two, "d")).isTrue();

    nanos += 99_999_999;
    assertThat(knows(two, "e")).isFalse();
    assertThat(knows(two, "d")).isTrue();
    nanos++;
    assertThat(knows(two, "e")).isTrue();
    assertThat(knows(two, "f")).isTrue();
    assertThat(knows(two, "g")).as("the search was just now").isFalse();
  }

  @Test
  void aSearchKeepsKeysThatAreNeeded() {
    KnownSubjectTable two = new KnownSubjectTable(2, () -> nanos);
    LimitRequest call = request(USER);
    KnownSubject[] user = two.of(call);
    two.sent(call, user);
    assertThat(knows(two, "b")).isTrue();

    assertThat(knows(two, "c")).as("in place of b").isTrue();

    assertThat(two.of(call)[0]).isSameAs(user[0]);
    assertThat(knows(two, "d")).isFalse();
  }

  @Test
  void aForgottenKeyStartsAgain() {
    learn(verdict(1, 2, 3).build(), 0);
    table.forget(List.of(USER.key()));

    KnownSubject[] again = table.of(CALL);

    assertThat(again[0]).isNotSameAs(known[0]);
    assertThat(again[1]).isSameAs(known[1]);
    assertThat(adopted())
        .as("a call under way sees it too")
        .containsEntry(USER, List.of())
        .containsEntry(ORG, List.of(3L));
  }

  @Test
  void aLiftedBanIsAdopted() {
    learn(verdict(1, 2, 3).ban(MINUTE).build(), 0);
    assertThat(adopt(LimitStore.KnownUse::bannedMicros)).containsEntry(USER, 60_000_000L);

    table.liftBans(List.of(USER.key()));

    assertThat(adopt(LimitStore.KnownUse::bannedMicros)).containsExactly(Map.entry(USER, 0L));
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
    KnownSubject[] both = table.of(call);
    AtomicReference<Thread> deciding = new AtomicReference<>();
    CompletableFuture<String> decided;
    synchronized (both[1]) {
      decided =
          CompletableFuture.supplyAsync(
              () -> {
                deciding.set(Thread.currentThread());
                return table.decide(call, both, thatAdopts((charge, use) -> {}), () -> "decided");
              },
              OWN_THREAD);
      await()
          .until(() -> deciding.get() != null && deciding.get().getState() == Thread.State.BLOCKED);
      assertThat(CompletableFuture.runAsync(both[0]::liftBan, OWN_THREAD))
          .as("the other is not locked yet")
          .succeedsWithin(Duration.ofSeconds(5));
    }
    assertThat(decided).succeedsWithin(Duration.ofSeconds(10)).isEqualTo("decided");
  }
}
