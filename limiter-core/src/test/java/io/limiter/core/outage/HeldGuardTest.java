// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.store.DelegatingStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an instance knows of a claimed guard whose method it runs, while the store is away. */
class HeldGuardTest {

  private static final Duration CLAIM = Duration.ofSeconds(2);
  private static final Duration TIME = Duration.ofMillis(2_500);
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private enum Answer {
    GIVEN,
    FAILED,
    LATE,
    THROWN
  }

  private Answer decisions = Answer.GIVEN;
  private Answer writes = Answer.GIVEN;
  private final List<CompletableFuture<?>> late = new ArrayList<>();
  private final LimitStore store = new FallbackStore(new Faulty(), new MemoryStore());

  private <T> CompletionStage<T> answer(Answer how, Supplier<CompletionStage<T>> action) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    switch (how) {
      case GIVEN -> {
        return action.get();
      }
      case FAILED -> answer.completeExceptionally(silent());
      case LATE -> late.add(answer);
      case THROWN -> throw new IllegalStateException("the store of an application");
    }
    return answer;
  }

  private static StoreException silent() {
    return new StoreException(FailureReason.TIMEOUT, "silent", null);
  }

  private void failWhatIsLate() {
    List.copyOf(late).forEach(answer -> answer.completeExceptionally(silent()));
    late.clear();
  }

  /** A store in memory that answers as the test says. */
  private final class Faulty extends DelegatingStore {

    Faulty() {
      super(new MemoryStore());
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return answer(
          decisions,
          () ->
              store
                  .decide(request, mode)
                  .thenApply(
                      verdict ->
                          verdict.allowed()
                              ? verdict.withReservation(new Written(verdict.reservation()))
                              : verdict));
    }
  }

  private final class Written implements Reservation {

    private final Reservation taken;

    Written(Reservation taken) {
      this.taken = taken;
    }

    @Override
    public CompletionStage<Long> refund() {
      return taken.refund();
    }

    @Override
    public CompletionStage<Long> release() {
      return answer(writes, taken::release);
    }

    @Override
    public CompletionStage<Long> hold(Duration time, boolean ended) {
      return answer(writes, () -> taken.hold(time, ended));
    }

    @Override
    public CompletionStage<Long> settle(Completion completion) {
      return taken.settle(completion);
    }

    @Override
    public CompletionStage<Long> renewPermits() {
      return taken.renewPermits();
    }

    @Override
    public Optional<Duration> permitDuration() {
      return taken.permitDuration();
    }
  }

  private CompletableFuture<Verdict> submit(Duration time) {
    RuleStack guard = RuleStack.of(List.of(SlidingWindowLogRule.of(1, time))).withClaim(CLAIM);
    StateKey key = StateKey.of("orders", new Subject("user", "ada")).duplicates(guard, "tea");
    Policy policy =
        new Policy(
            "orders",
            "orders",
            List.of(),
            Optional.of(guard),
            List.of("orders"),
            Map.of(),
            List.of());
    LimitRequest request =
        new LimitRequest(policy, List.of(), Optional.of(new Charge("orders", key, guard, 1)));
    return store.decide(request, Mode.ACQUIRE).toCompletableFuture();
  }

  private boolean isFree(Duration time) {
    Verdict verdict = submit(time).join();
    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
    return verdict.allowed();
  }

  private void loseTheStore() {
    decisions = Answer.FAILED;
    writes = Answer.FAILED;
  }

  /** Others that are under way have memory adopt it with another stamp. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isHeldBeyondItsTimeBesideFurtherSubmissions(boolean takenByTheFallback) {
    if (takenByTheFallback) {
      loseTheStore();
    }
    Reservation taken = submit(TIME).join().reservation();
    loseTheStore();
    await()
        .during(TIME.plus(CLAIM))
        .atMost(PATIENCE)
        .until(
            () -> {
              var unused = taken.hold(CLAIM, false).handle((units, failure) -> units);
              decisions = Answer.LATE;
              CompletableFuture<Verdict> other = submit(TIME);
              decisions = Answer.FAILED;
              boolean free = isFree(TIME);
              failWhatIsLate();
              return !free && !other.join().allowed();
            });

    var unused = taken.release().handle((units, failure) -> units);
    await().atMost(PATIENCE).until(() -> isFree(TIME));
  }

  @Test
  void isFreeAfterItsClaimIfItsReleaseFails() {
    Duration time = Duration.ofHours(1);
    Reservation taken = submit(time).join().reservation();
    assertThat(taken.hold(CLAIM, false)).isCompletedWithValue(1L);
    loseTheStore();
    assertThat(taken.release()).isCompletedExceptionally();
    assertThat(isFree(time)).isFalse();
    await().atMost(PATIENCE).until(() -> isFree(time));
  }

  @Test
  void aRenewalThatThrowsIsUnderWayNoMore() {
    Reservation taken = submit(TIME).join().reservation();
    writes = Answer.THROWN;
    assertThat(taken.hold(CLAIM, false)).isCompletedExceptionally();
    writes = Answer.GIVEN;
    assertThat(taken.release()).isCompletedWithValue(1L);
    loseTheStore();
    assertThat(isFree(TIME)).isTrue();
  }

  @Test
  void aRenewalThatFailsAfterTheReleaseHoldsNothing() {
    Reservation taken = submit(TIME).join().reservation();
    writes = Answer.LATE;
    CompletionStage<Long> renewal = taken.hold(CLAIM, false);
    writes = Answer.GIVEN;
    assertThat(taken.release()).isCompletedWithValue(1L);
    loseTheStore();
    failWhatIsLate();
    assertThat(renewal).isCompletedExceptionally();
    assertThat(isFree(TIME)).isTrue();
  }
}
