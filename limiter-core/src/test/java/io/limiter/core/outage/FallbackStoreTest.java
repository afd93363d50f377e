// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStore.SeenUse;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.helpers.NOPLogger;

class FallbackStoreTest {

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("sms", SlidingWindowLogRule.of(5, Duration.ofHours(1))),
          new Subject("user", "ada"));
  private static final List<StateKey> KEYS = List.of(CALL.charge(0).key());

  private final Breakable first = new Breakable();
  private final Breakable second = new Breakable();
  private final FallbackStore store = new FallbackStore(first, second);

  @ParameterizedTest
  @EnumSource
  void theFallbackDecidesWhenTheStoreFailsAndGivesTheReason(FailureReason reason) {
    first.failure = new StoreException(reason, "away", null);

    Verdict verdict = acquire();

    assertThat(verdict.allowed()).isTrue();
    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
    assertThat(verdict.reason()).contains(reason);
    assertThat(verdict.rules()).extracting(RuleVerdict::remaining).containsExactly(4L);
    assertThat(second.remaining()).isEqualTo(4);
  }

  @Test
  void aFailureThatComesThroughOtherStagesIsRecognized() {
    first.failure = new StoreException(FailureReason.TIMEOUT, "away", null);
    first.derived = true;

    assertThat(acquire().reason()).contains(FailureReason.TIMEOUT);
  }

  @Test
  void eachContinuesFromWhatTheOtherHasCounted() {
    acquire();
    acquire();
    first.failure = new StoreException(FailureReason.DISCONNECTED, "away", null);
    assertThat(acquire().rules().get(0).remaining()).isEqualTo(2);

    first.failure = null;
    Verdict back = acquire();

    assertThat(back.decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(back.rules().get(0).remaining()).isEqualTo(1);
  }

  @Test
  void theFallbackContinuesUnderTheNumbersThatTheStoreHadLast() {
    FixedWindowRule rule = FixedWindowRule.of(5, HOUR);
    acquire(rule);
    acquire(rule.withCount(3));
    first.failure = new StoreException(FailureReason.DISCONNECTED, "away", null);
    assertThat(acquire(rule.withCount(3)).rules().get(0).remaining()).isZero();
  }

  /** What the store has counted is not known of other numbers, and none of it is kept. */
  @ParameterizedTest
  @EnumSource
  void otherNumbersThanTheStoreHadBeginFromZero(CalendarPeriod each) {
    FixedWindowRule rule = FixedWindowRule.aligned(5, each, ZoneOffset.UTC);
    acquire(rule);
    first.failure = new StoreException(FailureReason.DISCONNECTED, "away", null);
    for (int left = 2; left >= 0; left--) {
      RuleVerdict read = acquire(rule.withCount(3)).rules().get(0);
      assertThat(read.remaining()).isEqualTo(left);
      assertThat(read.resetAfter()).isPositive().isLessThanOrEqualTo(each.longest());
    }
    assertThat(acquire(rule.withCount(3)).allowed()).isFalse();
  }

  @Test
  void aSubjectWithAnotherDayGoesOn() {
    Alignment months = Alignment.to(ZoneOffset.UTC).each(CalendarPeriod.MONTH);
    FixedWindowRule monthly = FixedWindowRule.aligned(5, CalendarPeriod.MONTH, ZoneOffset.UTC);
    for (int day = 1; day <= 3; day++) {
      acquire(monthly.alignedTo(months.forSubject(LocalDate.of(2024, 1, day))));
    }
    first.failure = new StoreException(FailureReason.DISCONNECTED, "away", null);
    List<Long> left = new ArrayList<>();
    for (int day = 29; day <= 31; day++) {
      Verdict verdict = acquire(monthly.alignedTo(months.forSubject(LocalDate.of(2024, 1, day))));
      left.add(verdict.allowed() ? verdict.rules().get(0).remaining() : -1);
    }
    assertThat(left).containsExactly(1L, 0L, -1L);
  }

  private Verdict acquire(Rule rule) {
    LimitRequest call = LimitRequest.of(Policy.of("quota", rule), new Subject("user", "ada"));
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  @Test
  void aDenialOfTheStoreIsNotPassedToTheFallback() {
    for (int i = 0; i < 5; i++) {
      acquire();
    }

    assertThat(acquire().allowed()).isFalse();
    assertThat(second.remaining()).isEqualTo(5);
  }

  @Test
  void unitsGoBackToTheStoreThatTheyWereTakenFrom() {
    Verdict fromStore = acquire();
    first.failure = new StoreException(FailureReason.TIMEOUT, "away", null);
    Verdict fromFallback = acquire();
    first.failure = null;

    assertThat(fromFallback.reservation().refund()).isCompletedWithValue(1L);
    assertThat(first.remaining()).isEqualTo(4);
    assertThat(second.remaining()).as("but for the unit of the store").isEqualTo(4);

    assertThat(fromStore.reservation().refund()).isCompletedWithValue(1L);
    assertThat(first.remaining()).isEqualTo(5);
  }

  @Test
  void failuresOfTheApplicationAreNotHidden() {
    first.failure = new IllegalStateException("a defect");

    assertThatThrownBy(this::acquire).hasRootCauseMessage("a defect");
    assertThat(second.remaining()).isEqualTo(5);
  }

  @Test
  void ifBothFailTheCallerGetsTheFailureOfTheFallback() {
    first.failure = new StoreException(FailureReason.TIMEOUT, "store", null);
    second.failure = new StoreException(FailureReason.DISCONNECTED, "fallback", null);

    assertThatThrownBy(this::acquire).hasRootCauseMessage("fallback");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFallbackThatThrowsLeavesNoCallWaiting(boolean error) {
    first.failure = new StoreException(FailureReason.TIMEOUT, "store", null);
    second.thrown = error ? new AssertionError("a defect") : new IllegalStateException("a defect");

    assertThat(store.decide(CALL, Mode.ACQUIRE))
        .failsWithin(Duration.ofSeconds(5))
        .withThrowableThat()
        .havingRootCause()
        .withMessage("a defect");
  }

  @Test
  void aFallbackWithoutAVerdictLeavesNoCallWaiting() {
    first.failure = new StoreException(FailureReason.TIMEOUT, "store", null);
    second.givesNull = true;

    assertThat(store.decide(CALL, Mode.ACQUIRE))
        .failsWithin(Duration.ofSeconds(5))
        .withThrowableThat()
        .havingRootCause()
        .withMessage("The fallback LOCAL gave no verdict");
  }

  @Test
  void aStoreThatThrowsItsFailureIsLikeOneThatCompletesWithIt() {
    first.thrown = new StoreException(FailureReason.TIMEOUT, "store", null);

    assertThat(acquire().reason()).contains(FailureReason.TIMEOUT);
    first.thrown = null;
  }

  @Test
  void resetAffectsBothStores() {
    acquire();
    first.failure = new StoreException(FailureReason.TIMEOUT, "away", null);
    acquire();
    first.failure = null;

    store.reset(KEYS).toCompletableFuture().join();

    assertThat(first.remaining()).isEqualTo(5);
    assertThat(second.remaining()).isEqualTo(5);
  }

  @Test
  void aResetThatTheStoreDoesNotHearOfFails() {
    first.failure = new StoreException(FailureReason.TIMEOUT, "away", null);

    assertThat(store.reset(KEYS)).isCompletedExceptionally();
  }

  @Test
  void aBanIsLiftedInBothStoresAndInWhatIsKnown() {
    Policy policy = Policy.of("banning", rule(5, HOUR)).withBan(BanRule.of(1, HOUR, HOUR));
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "x"));
    List<StateKey> keys = List.of(call.charge(0).key());
    StoreException away = new StoreException(FailureReason.TIMEOUT, "away", null);
    assertThat(outcome(call.withCost(6))).isEqualTo(Outcome.BANNED);
    first.failure = away;
    assertThat(outcome(call)).as("known").isEqualTo(Outcome.BANNED);
    assertThat(store.liftBans(keys)).isCompletedExceptionally();
    first.failure = null;

    assertThat(store.liftBans(keys)).isCompleted();

    first.failure = away;
    assertThat(outcome(call)).isEqualTo(Outcome.ALLOWED);
    first.failure = null;
    assertThat(outcome(call)).isEqualTo(Outcome.ALLOWED);
  }

  private Outcome outcome(LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join().outcome();
  }

  @Test
  void onceClosedTheLocalStoreStillDecides() {
    store.close();

    first.failure = new StoreException(FailureReason.DISCONNECTED, "closed", null);
    assertThat(first.closed).isTrue();
    assertThat(second.closed).isFalse();
    assertThat(outcome(CALL)).isEqualTo(Outcome.ALLOWED);
  }

  @Test
  void listenersReceiveHowLongEachDecisionTook() {
    AtomicLong nanos = new AtomicLong(-7);
    List<String> heard = new ArrayList<>();
    FallbackStore heeded =
        new FallbackStore(
            first,
            second,
            policy -> Fallback.LOCAL,
            new FallbackCounts(),
            10,
            nanos::get,
            List.of((took, failure) -> heard.add(took + " " + failure)),
            NOPLogger.NOP_LOGGER);
    first.meanwhile = () -> nanos.addAndGet(30);
    heeded.decide(CALL, Mode.ACQUIRE);
    first.failure = new StoreException(FailureReason.TIMEOUT, "away", null);
    heeded.decide(CALL, Mode.ACQUIRE);

    assertThat(heard).containsExactly("30 null", "30 TIMEOUT");
  }

  @Test
  void whileTheStoreConnectsCallsWait() {
    CompletableFuture<Void> attempt = new CompletableFuture<>();
    assertThat(store.whileConnecting(attempt, HOUR)).isSameAs(store);
    CompletionStage<Verdict> decided = store.decide(CALL, Mode.ACQUIRE);
    CompletionStage<Void> reset = store.reset(KEYS);
    CompletionStage<Void> lifted = store.liftBans(KEYS);
    assertThat(List.of(decided, reset, lifted))
        .allSatisfy(stage -> assertThat(stage.toCompletableFuture()).isNotDone());

    attempt.completeExceptionally(new IllegalStateException("cannot be reached"));

    assertThat(decided).isCompletedWithValueMatching(Verdict::allowed);
    assertThat(reset).isCompleted();
    assertThat(lifted).isCompleted();
    assertThat(store.decide(CALL, Mode.PEEK)).isCompletedWithValueMatching(Verdict::allowed);
  }

  @Test
  void callsDoNotWaitLongerThanTheyMay() {
    store.whileConnecting(new CompletableFuture<>(), Duration.ofMillis(20));

    assertThat(store.decide(CALL, Mode.ACQUIRE)).succeedsWithin(Duration.ofSeconds(10));
  }

  /** Both what was known before, and what a call learns while the store resets. */
  @Test
  void aResetRemovesWhatIsKnown() {
    CompletableFuture<Void> resets = new CompletableFuture<>();
    acquire();
    first.change = resets;
    CompletionStage<Void> reset = store.reset(KEYS);
    first.failure = new StoreException(FailureReason.TIMEOUT, "away", null);
    assertThat(acquire().rules().get(0).remaining()).as("meanwhile").isEqualTo(4);
    first.failure = null;
    acquire();
    second.memory.reset(KEYS);

    resets.complete(null);

    assertThat(reset).isCompleted();
    first.failure = new StoreException(FailureReason.TIMEOUT, "away", null);
    assertThat(acquire().rules().get(0).remaining()).as("after it").isEqualTo(4);
  }

  private Verdict acquire() {
    return store.decide(CALL, Mode.ACQUIRE).toCompletableFuture().join();
  }

  /** A store that fails on request. */
  private static final class Breakable implements LimitStore {

    private final MemoryStore memory = new MemoryStore();
    RuntimeException failure;
    Throwable thrown;
    Verdict verdict;
    boolean givesNull;
    boolean derived;
    boolean closed;
    Runnable meanwhile = () -> {};

    /** Delays what it does to keys. */
    CompletableFuture<Void> change = CompletableFuture.completedFuture(null);

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T asItIs(Throwable failure) throws T {
      throw (T) failure;
    }

    long remaining() {
      return memory.decide(CALL, Mode.PEEK).toCompletableFuture().join().rules().get(0).remaining();
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      meanwhile.run();
      if (thrown != null) {
        throw Breakable.<RuntimeException>asItIs(thrown);
      }
      if (givesNull) {
        return CompletableFuture.completedFuture(null);
      }
      if (verdict != null) {
        return CompletableFuture.completedFuture(verdict);
      }
      return this.<Verdict>failed()
          .orElseGet(() -> memory.decide(request, mode).toCompletableFuture());
    }

    @Override
    public void adopt(Charge charge, SeenUse known) {
      memory.adopt(charge, known);
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return this.<Void>failed().orElseGet(() -> change.thenCompose(now -> memory.reset(keys)));
    }

    @Override
    public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
      return this.<Void>failed().orElseGet(() -> change.thenCompose(now -> memory.liftBans(keys)));
    }

    private <T> Optional<CompletableFuture<T>> failed() {
      if (failure == null) {
        return Optional.empty();
      }
      CompletableFuture<T> failed = CompletableFuture.failedFuture(failure);
      return Optional.of(derived ? failed.thenApply(any -> any) : failed);
    }

    @Override
    public void close() {
      closed = true;
      if (thrown != null) {
        throw Breakable.<RuntimeException>asItIs(thrown);
      }
    }
  }
}
