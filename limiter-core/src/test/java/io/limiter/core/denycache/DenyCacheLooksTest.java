// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.denycache;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.store.DelegatingStore;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
  void oneCallAsksTheStoreWhileOthersAreStillDenied() {
    deny(caller);
    advance(AGE);
    store.slow = true;
    var first = cache.decide(caller, Mode.ACQUIRE).toCompletableFuture();
    advance(AGE.minusNanos(1_000));
    for (int i = 0; i < 50; i++) {
      Verdict other = acquire();
      assertThat(other.allowed()).isFalse();
      assertThat(other.decidedBy()).isEqualTo(DecidedBy.DENY_CACHE);
    }
    assertThat(first).isNotDone();
    assertThat(store.looks).isEqualTo(1);

    store.answer();

    assertThat(first.join().decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(first.join().allowed()).isFalse();
  }

  /** A store that never answers may not deny calls until their retry-after. */
  @Test
  void anotherCallAsksAfterTheMaximumAge() {
    deny(caller);
    store.slow = true;
    for (int i = 1; i <= 3; i++) {
      advance(AGE);
      assertThat(cache.decide(caller, Mode.ACQUIRE)).isNotCompleted();
      assertThat(acquire().decidedBy()).isEqualTo(DecidedBy.DENY_CACHE);
      assertThat(store.looks).isEqualTo(i);
    }
  }

  @Test
  void aLateVerdictFromBeforeAResetIsNotCached() {
    while (acquire().allowed()) {}
    cache.clear();
    store.slow = true;
    var early = cache.decide(caller, Mode.ACQUIRE);
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

  /** As a store of the application may: the denial is not repeated for another maximum age. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aStoreThatGivesNoStageFailsTheCallAndRemovesTheEntry(boolean thrown) {
    deny(caller);
    advance(AGE);
    store.breaks =
        () -> {
          if (thrown) {
            throw new IllegalStateException("broken");
          }
        };

    for (int i = 1; i <= 3; i++) {
      assertThatThrownBy(this::acquire)
          .isInstanceOf(CompletionException.class)
          .cause()
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining(thrown ? "broken" : "let decide() return a stage");
      assertThat(store.looks).isEqualTo(i);
    }
  }

  /** Before a store of the application, which may give less than ours. */
  private DenyCache before(Verdict always) {
    LimitStore strange =
        new DelegatingStore(store) {
          @Override
          public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
            return CompletableFuture.completedFuture(always);
          }
        };
    return new DenyCache(strange, policy -> true, 10, AGE, () -> 1_000 * clock);
  }

  @Test
  void aDenialWithoutATimeIsCachedWithout() {
    RuleVerdict rule =
        RuleVerdict.of(caller.policy().rules().get(0)).violatedFor(AGE).resetAfter(AGE).build();
    DenyCache timeless =
        before(Verdict.of(caller.policy(), Outcome.LIMITED).rules(List.of(rule)).build());
    timeless.decide(caller, Mode.ACQUIRE);
    advance(Duration.ofMillis(1));
    assertThat(timeless.decide(caller, Mode.ACQUIRE).toCompletableFuture().join())
        .returns(DecidedBy.DENY_CACHE, Verdict::decidedBy)
        .returns(0L, Verdict::decidedAtMicros);
  }

  @Test
  void aDenialWithoutARuleIsNotCached() {
    Verdict unexplained = Verdict.of(caller.policy(), Outcome.LIMITED).build();
    DenyCache before = before(unexplained);

    for (int i = 0; i < 3; i++) {
      assertThat(before.decide(caller, Mode.ACQUIRE)).isCompletedWithValue(unexplained);
      assertThat(before.remembered()).isZero();
    }
  }
}
