// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.denycache;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DenyCacheTest extends DenyCacheBench {
  private static final LimitRequest ADA = call("ada", rule(1, MINUTE));
  private static final LimitRequest BOB = call("bob", rule(1, MINUTE));

  private final DenyCache single = cache(1);

  private static CompletionStage<Verdict> decide(DenyCache cache, LimitRequest call) {
    return cache.decide(call, Mode.ACQUIRE);
  }

  private static DecidedBy source(DenyCache cache, LimitRequest call) {
    Verdict verdict = decide(cache, call).toCompletableFuture().join();
    assertThat(verdict.allowed()).isFalse();
    return verdict.decidedBy();
  }

  /** Takes all units of a caller; its next call is denied. */
  private void use(LimitRequest call) {
    store.memory.decide(call, Mode.RECORD);
  }

  @Test
  void aKnownDenialIsAnsweredWithoutAskingTheStore() {
    deny(caller);
    advance(AGE.minusMillis(1));

    Verdict verdict = acquire();

    assertThat(store.looks).isZero();
    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.DENY_CACHE);
    assertThat(verdict.allowed()).isFalse();
    assertThat(verdict.retryAfter()).contains(MINUTE.minus(AGE).plusMillis(1));
    assertThat(verdict.rules().get(0).resetAfter()).isEqualTo(MINUTE.minus(AGE).plusMillis(1));
    assertThat(verdict.rules().get(0).remaining()).isZero();
    assertThat(verdict.decidedAtMicros()).as("for its usage").isEqualTo(clock);
  }

  @Test
  void differentCallsOfOneCallerAreCachedBesideEachOther() {
    LimitRequest ten = call(rule(10, MINUTE));
    deny(ten);
    acquire(ten.withCost(2));
    store.looks = 0;

    for (int i = 0; i < 20; i++) {
      assertThat(acquire(i % 2 == 0 ? ten : ten.withCost(2)).allowed()).isFalse();
    }

    assertThat(store.looks).isZero();
  }

  @Test
  void aDeniedCallerIsNotAskedForWhateverItSubmits() {
    acquire(submit("first", rule(1, MINUTE)));
    deny(submit("second", rule(1, MINUTE)));

    for (int i = 0; i < 20; i++) {
      Verdict verdict = acquire(submit("another " + i, rule(1, MINUTE)));
      assertThat(verdict.outcome()).isEqualTo(Outcome.LIMITED);
      assertThat(verdict.duplicate()).isEmpty();
    }

    assertThat(store.looks).isZero();
  }

  @Test
  void theSameSubmissionIsAnsweredWithItsDuplicateGuard() {
    acquire(submit("first", rule(1, MINUTE)));
    LimitRequest same = submit("second", rule(1, MINUTE));
    deny(same);

    Verdict verdict = acquire(same);

    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.DENY_CACHE);
    assertThat(verdict.duplicate()).isPresent();
  }

  @Test
  void aClearedCacheAsksTheStore() {
    deny(caller);

    cache.clear();

    assertThat(cache.remembered()).isZero();
    acquire();
    assertThat(store.looks).isEqualTo(1);
  }

  @Test
  void changesAndTheEndArePassedToTheStore() {
    List<StateKey> keys = List.of(caller.charge(0).key());
    deny(caller);
    assertThat(cache.liftBans(keys)).isCompleted();
    assertThat(acquire().allowed()).isFalse();
    assertThat(cache.reset(keys)).isCompleted();
    assertThat(acquire().allowed()).isTrue();

    cache.close();

    assertThat(store.closed).isTrue();
  }

  @Test
  void onlyACallThatWouldTakeIsAnswered() {
    deny(caller);

    cache.decide(caller, Mode.PEEK);
    cache.decide(caller, Mode.RECORD);

    assertThat(store.looks).isEqualTo(2);
  }

  @Test
  void aCallOfAnotherCostIsAskedFor() {
    LimitRequest ten = call(rule(10, MINUTE));
    acquire(ten);
    deny(ten.withCost(10));

    assertThat(acquire(ten).allowed()).isTrue();
    assertThat(store.looks).isEqualTo(1);
  }

  @Test
  void aPolicyMayBeLeftOut() {
    LimitRequest each =
        LimitRequest.of(Policy.of("left out", rule(1, MINUTE)), new Subject("user", "somebody"));
    deny(each);

    acquire(each);

    assertThat(store.looks).isEqualTo(1);
  }

  @Test
  void denialsOfAFallbackAreNotCached() {
    deny(caller);
    store.failure = new StoreException(FailureReason.TIMEOUT, "away", null);
    LimitStore local = new MemoryStore(10, () -> clock);
    DenyCache before = new DenyCache(new FallbackStore(store, local));
    for (int i = 0; i < 3; i++) {
      assertThat(before.decide(caller, Mode.ACQUIRE).toCompletableFuture().join().decidedBy())
          .isEqualTo(DecidedBy.FALLBACK);
    }
  }

  @Test
  void theCacheIsBoundedAndTheStoreIsAskedForOthers() {
    DenyCache small = cache(3);
    for (int i = 0; i < 10; i++) {
      LimitRequest one = call("caller " + i, rule(1, MINUTE));
      small.decide(one, Mode.ACQUIRE);
      small.decide(one, Mode.ACQUIRE);
    }
    store.looks = 0;
    for (int i = 0; i < 10; i++) {
      LimitRequest one = call("caller " + i, rule(1, MINUTE));
      assertThat(small.decide(one, Mode.ACQUIRE).toCompletableFuture().join().allowed()).isFalse();
    }

    assertThat(small.remembered()).isEqualTo(3);
    assertThat(store.looks).isEqualTo(7);
  }

  @Test
  void makesRoomForNewCallersOnceTheOldAreGone() {
    DenyCache small = cache(3);
    for (int round = 0; round < 5; round++) {
      for (int i = 0; i < 3; i++) {
        LimitRequest one = call("caller " + round + "." + i, rule(1, MINUTE));
        small.decide(one, Mode.ACQUIRE);
        assertThat(source(small, one)).isEqualTo(DecidedBy.STORE);
        assertThat(source(small, one)).isEqualTo(DecidedBy.DENY_CACHE);
      }
      assertThat(small.remembered()).isEqualTo(3);
      advance(AGE);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT1.001S"})
  void anInvalidAgeIsRejected(String age) {
    assertThatThrownBy(() -> new DenyCache(store, policy -> true, 1, Duration.parse(age)))
        .hasMessageContaining(age)
        .hasMessageContaining("more than 0");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 100_001})
  void anInvalidSizeIsRejected(int size) {
    assertThatThrownBy(() -> new DenyCache(store, policy -> true, size, SECOND))
        .hasMessageContaining("size " + size + ": use 1 to 100000");
  }

  @Test
  void aDeniedCallInspectsFewOfAFullCache() {
    int size = 1_000;
    DenyCache full = cache(size);
    for (int i = 0; i < size; i++) {
      LimitRequest one = call("caller " + i, rule(1, MINUTE));
      use(one);
      source(full, one);
    }
    advance(AGE); // all are stale
    use(BOB);

    source(full, BOB);

    assertThat(full.remembered()).isBetween(size - 15, size);
    assertThat(source(full, BOB)).isEqualTo(DecidedBy.DENY_CACHE);
  }

  @Test
  void anEntryBeingCheckedIsNotRemovedForAnother() {
    use(ADA);
    use(BOB);
    source(single, ADA);
    advance(AGE);
    store.slow = true;
    decide(single, BOB);
    decide(single, ADA);
    store.slow = false;
    store.answer(); // Bob's answer arrives first

    assertThat(source(single, ADA)).isEqualTo(DecidedBy.DENY_CACHE);
    assertThat(source(single, BOB)).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aResetOfOneSubjectAffectsNoOther() {
    use(ADA);
    use(BOB);
    source(cache, ADA);
    source(cache, BOB);
    cache.reset(List.of(ADA.charge(0).key()));

    assertThat(decide(cache, ADA).toCompletableFuture().join().allowed()).isTrue();
    assertThat(source(cache, BOB)).isEqualTo(DecidedBy.DENY_CACHE);
  }

  @Test
  void aCallerAdmittedInTheMeantimeIsCachedAgainOnceDenied() {
    deny(caller);
    store.reset(List.of(caller.charge(0).key()));
    advance(AGE);

    assertThat(acquire().allowed()).isTrue();
    assertThat(acquire().decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(acquire().decidedBy()).isEqualTo(DecidedBy.DENY_CACHE);
  }
}
