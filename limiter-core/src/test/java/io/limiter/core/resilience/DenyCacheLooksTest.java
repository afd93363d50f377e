// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** When the store is asked again. */
class DenyCacheLooksTest extends DenyCacheBench {

  @Test
  void aFloodAsksTheStoreOnceInASecond() {
    deny(caller);
    for (int millisecond = 0; millisecond < 10_000; millisecond++) {
      advance(Duration.ofMillis(1));
      assertThat(acquire().allowed()).isFalse();
    }
    assertThat(store.looks).isEqualTo(10);
  }

  @Test
  void oneCallAsksTheStoreWhileOthersWaitForItsResult() {
    deny(caller);
    advance(AGE);
    store.slow = true;
    List<CompletableFuture<Verdict>> calls = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      calls.add(cache.decide(caller, Mode.ACQUIRE).toCompletableFuture());
    }
    assertThat(calls).noneMatch(CompletableFuture::isDone);

    store.answer();

    assertThat(store.looks).isEqualTo(1);
    assertThat(calls).allMatch(CompletableFuture::isDone);
    assertThat(calls.get(0).join().decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(calls.subList(1, 50))
        .allMatch(call -> call.join().decidedBy() == DecidedBy.DENY_CACHE)
        .noneMatch(call -> call.join().allowed());
  }

  @Test
  void aCallThatWaitedForAnAdmissionIsDecidedByItself() {
    Verdict admitted = acquire();
    deny(caller);
    admitted.reservation().refund().toCompletableFuture().join();
    advance(AGE);
    store.slow = true;
    var first = cache.decide(caller, Mode.ACQUIRE).toCompletableFuture();
    var second = cache.decide(caller, Mode.ACQUIRE).toCompletableFuture();
    store.slow = false;

    store.answer();

    assertThat(first.join().allowed()).isTrue();
    assertThat(second.join().allowed()).isFalse();
    assertThat(second.join().decidedBy()).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aLateVerdictFromBeforeAResetIsNotCached() {
    while (acquire().allowed()) {}
    cache.clear();
    store.slow = true;
    var early = cache.decide(caller, Mode.ACQUIRE);
    advance(Duration.ofMillis(1));
    cache.reset(caller.charges().stream().map(charge -> charge.key()).toList());
    store.slow = false;
    store.answer();

    assertThat(early.toCompletableFuture().join().allowed()).isFalse();
    assertThat(acquire().allowed()).isTrue();
  }

  @Test
  void whoseTimeHasComeIsAdmittedAtOnce() {
    LimitRequest often = call(rule(1, Duration.ofMillis(300)));
    deny(often);
    advance(Duration.ofMillis(299));
    assertThat(acquire(often).decidedBy()).isEqualTo(DecidedBy.DENY_CACHE);

    advance(Duration.ofMillis(1));

    assertThat(acquire(often).allowed()).isTrue();
  }

  @Test
  void unitsGivenBackElsewhereAreSeenAfterTheMaximumAge() {
    Verdict admitted = acquire();
    deny(caller);
    admitted.reservation().refund().toCompletableFuture().join();

    advance(AGE.minusNanos(1_000));
    assertThat(acquire().allowed()).isFalse();
    advance(Duration.ofNanos(1_000));
    assertThat(acquire().allowed()).isTrue();
    assertThat(acquire().decidedBy()).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aBanThatIsLiftedEndsAtOnce() {
    Policy policy =
        Policy.of("banning", rule(5, Duration.ofHours(1)))
            .withBan(BanRule.of(1, Duration.ofHours(1), Duration.ofHours(1)));
    LimitRequest banned = LimitRequest.of(policy, new Subject("user", "x"));
    assertThat(acquire(banned.withCost(6)).allowed()).isFalse();
    assertThat(acquire(banned).allowed()).isFalse();
    assertThat(acquire(banned).decidedBy()).isEqualTo(DecidedBy.DENY_CACHE);

    cache.liftBans(List.of(banned.charge(0).key()));

    assertThat(acquire(banned).allowed()).isTrue();
  }

  @Test
  void aStoreThatCannotLiftBansFailsAndNamesTheRemedy() {
    LimitStore minimal =
        new LimitStore() {
          @Override
          public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
            return CompletableFuture.completedFuture(Verdict.free(request.policy()));
          }

          @Override
          public CompletionStage<Void> reset(Collection<StateKey> keys) {
            return CompletableFuture.completedFuture(null);
          }

          @Override
          public void close() {}
        };

    assertThatThrownBy(() -> minimal.liftBans(List.of()).toCompletableFuture().join())
        .hasRootCauseInstanceOf(StoreException.class)
        .rootCause()
        .hasMessageEndingWith(
            "cannot lift bans: implement LimitStore.liftBans, or reset the subject");
  }

  @Test
  void aSubjectThatIsResetIsAdmittedAtOnce() {
    deny(caller);

    cache.reset(caller.charges().stream().map(charge -> charge.key()).toList());

    assertThat(acquire().allowed()).isTrue();
  }

  @Test
  void aFailedRequestRemovesTheEntry() {
    deny(caller);
    advance(AGE);
    store.failure = new StoreException(FailureReason.TIMEOUT, "away", null);

    for (int i = 1; i <= 3; i++) {
      assertThatThrownBy(this::acquire).isInstanceOf(CompletionException.class);
      assertThat(store.looks).isEqualTo(i);
    }
  }

  /** A store of the application, which throws, gives no answer, or returns no rules. */
  @Nested
  class AStrangeStore {
    private Supplier<CompletionStage<Verdict>> answer = this::looked;

    private final LimitStore strange =
        new LimitStore() {
          @Override
          public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
            return answer.get();
          }

          @Override
          public CompletionStage<Void> reset(Collection<StateKey> keys) {
            return store.reset(keys);
          }

          @Override
          public void close() {}
        };

    private final DenyCache before =
        new DenyCache(strange, policy -> true, 10, AGE, () -> 1_000 * clock);

    private CompletionStage<Verdict> looked() {
      return store.decide(caller, Mode.ACQUIRE);
    }

    /** The caller is denied, and the next call has to ask the store again. */
    private void denyAndWait() {
      before.decide(caller, Mode.ACQUIRE);
      before.decide(caller, Mode.ACQUIRE);
      advance(AGE);
    }

    private void assertThatNoCallWaitsForever() {
      answer = this::looked;
      CompletionStage<Verdict> next = before.decide(caller, Mode.ACQUIRE);
      assertThat(next).isCompleted();
      assertThat(next.toCompletableFuture().join().decidedBy()).isEqualTo(DecidedBy.STORE);
    }

    @Test
    void aRequestThatThrowsLeavesNoCallWaiting() {
      denyAndWait();
      answer =
          () -> {
            throw new IllegalStateException("a defect");
          };

      assertThatThrownBy(() -> before.decide(caller, Mode.ACQUIRE)).hasMessage("a defect");
      assertThatNoCallWaitsForever();
    }

    @Test
    void aRequestWithoutAnAnswerLeavesNoCallWaiting() {
      denyAndWait();
      answer = () -> null;

      assertThat(before.decide(caller, Mode.ACQUIRE)).isNull();
      assertThatNoCallWaitsForever();
    }

    @Test
    void aDenialWithoutARuleIsNotCached() {
      Verdict unexplained = Verdict.of(caller.policy(), Outcome.LIMITED).build();
      answer = () -> CompletableFuture.completedFuture(unexplained);

      for (int i = 0; i < 3; i++) {
        assertThat(before.decide(caller, Mode.ACQUIRE)).isCompletedWithValue(unexplained);
        assertThat(before.remembered()).isZero();
      }
    }
  }
}
