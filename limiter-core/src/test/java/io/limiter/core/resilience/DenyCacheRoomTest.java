// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Which entries are removed when the cache is full, or keys are reset. */
class DenyCacheRoomTest extends DenyCacheBench {

  private static final LimitRequest ADA = call("ada", rule(1, MINUTE));
  private static final LimitRequest BOB = call("bob", rule(1, MINUTE));
  private static final LimitRequest BRIEF = call("brief", rule(1, Duration.ofMillis(10)));

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
  void knownKeysStayKnownWhereThereIsNoRoomForAnother() {
    use(ADA);
    use(BOB);
    source(single, ADA);
    source(single, BOB);

    assertThat(source(single, ADA)).isEqualTo(DecidedBy.DENY_CACHE);
    assertThat(source(single, BOB)).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aFullCacheIsSearchedForRoomTenTimesInASecond() {
    use(BRIEF);
    use(BOB);
    source(single, BRIEF);
    source(single, BOB); // the first search finds nothing
    advance(Duration.ofNanos(99_999_000));
    source(single, BOB);
    assertThat(source(single, BOB)).isEqualTo(DecidedBy.STORE);

    advance(Duration.ofNanos(1_000));
    assertThat(source(single, BOB)).isEqualTo(DecidedBy.STORE);
    assertThat(source(single, BOB)).isEqualTo(DecidedBy.DENY_CACHE);
  }

  @Test
  void aNewCacheIsSearchedAtOnce() {
    use(BRIEF);
    use(BOB);
    source(single, BRIEF);
    advance(Duration.ofMillis(10));
    source(single, BOB);

    assertThat(source(single, BOB)).isEqualTo(DecidedBy.DENY_CACHE);
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
  void aRequestDuringAResetIsNotCached() {
    use(ADA);
    store.slow = true;
    CompletionStage<Verdict> early = decide(cache, ADA);
    cache.reset(List.of(ADA.charge(0).key()));
    store.slow = false;
    store.answer();

    assertThat(early.toCompletableFuture().join().allowed()).isFalse();
    assertThat(decide(cache, ADA).toCompletableFuture().join().allowed()).isTrue();
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

  @Test
  void aCacheHasRoomForAHundredThousandAtMost() {
    assertThat(new DenyCache(store, policy -> true, 100_000, SECOND).remembered()).isZero();
    assertThatThrownBy(() -> new DenyCache(store, policy -> true, 100_001, SECOND))
        .hasMessageContaining("size 100001: use 1 to 100000");
  }
}
