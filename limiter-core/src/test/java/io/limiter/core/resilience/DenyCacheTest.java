// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.FailureReason;
import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Source;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DenyCacheTest {

  private static final Duration AGE = DenyCache.MAX_AGE;

  private long clock = 1_700_000_000_000_000L;
  private final Looks store = new Looks();
  private final DenyCache cache = cache(100);
  private final LimitRequest caller = call(rule(1, MINUTE));

  private DenyCache cache(int size) {
    return new DenyCache(
        store, policy -> !policy.name().equals("left out"), size, AGE, () -> 1_000 * clock);
  }

  /** A store that counts who looks, and may be slow to answer or fail. */
  private final class Looks implements LimitStore {

    private final MemoryStore memory = new MemoryStore(1_000, () -> clock);
    private final Queue<Runnable> held = new ArrayDeque<>();
    private int looks;
    private boolean slow;
    private StoreException failure;

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      looks++;
      if (failure != null) {
        return CompletableFuture.failedFuture(failure);
      }
      Verdict verdict = memory.decide(request, mode).toCompletableFuture().join();
      CompletableFuture<Verdict> answer = new CompletableFuture<>();
      held.add(() -> answer.complete(verdict));
      if (!slow) {
        answer();
      }
      return answer;
    }

    void answer() {
      held.forEach(Runnable::run);
      held.clear();
    }

    @Override
    public CompletionStage<Void> reset(Collection<Key> keys) {
      return memory.reset(keys);
    }

    @Override
    public void close() {}
  }

  private Verdict acquire() {
    return acquire(caller);
  }

  private Verdict acquire(LimitRequest request) {
    return cache.decide(request, Mode.ACQUIRE).toCompletableFuture().join();
  }

  private void advance(Duration time) {
    clock += time.toNanos() / 1_000;
  }

  private void refuse(LimitRequest request) {
    while (acquire(request).allowed()) {}
    store.looks = 0;
  }

  @Test
  void whoIsKnownToBeRefusedIsAnsweredWithoutALook() {
    refuse(caller);
    advance(AGE.minusMillis(1));

    Verdict verdict = acquire();

    assertThat(store.looks).isZero();
    assertThat(verdict.source()).isEqualTo(Source.DENY_CACHE);
    assertThat(verdict.allowed()).isFalse();
    assertThat(verdict.retryAfter()).contains(MINUTE.minus(AGE).plusMillis(1));
    assertThat(verdict.rules().get(0).resetAfter()).isEqualTo(MINUTE.minus(AGE).plusMillis(1));
    assertThat(verdict.rules().get(0).remaining()).isZero();
  }

  @Test
  void aFloodLooksOnceInASecond() {
    refuse(caller);
    for (int millisecond = 0; millisecond < 10_000; millisecond++) {
      advance(Duration.ofMillis(1));
      assertThat(acquire().allowed()).isFalse();
    }
    assertThat(store.looks).isEqualTo(10);
  }

  @Test
  void oneCallLooksWhileOthersGetWhatIsKnown() {
    refuse(caller);
    advance(AGE);
    store.slow = true;
    CompletionStage<Verdict> look = cache.decide(caller, Mode.ACQUIRE);

    for (int i = 0; i < 50; i++) {
      assertThat(acquire().source()).isEqualTo(Source.DENY_CACHE);
    }

    assertThat(store.looks).isEqualTo(1);
    store.answer();
    assertThat(look).isCompletedWithValueMatching(verdict -> verdict.source() == Source.STORE);
  }

  @Test
  void aLookThatTakesTooLongIsNotWaitedForByOthers() {
    refuse(caller);
    advance(AGE);
    store.slow = true;
    var unused = cache.decide(caller, Mode.ACQUIRE);

    advance(AGE);
    var another = cache.decide(caller, Mode.ACQUIRE);

    assertThat(store.looks).isEqualTo(2);
    assertThat(another).isNotCompleted();
  }

  @Test
  void whoseTimeHasComeIsAdmittedAtOnce() {
    LimitRequest often = call(rule(1, Duration.ofMillis(300)));
    refuse(often);
    advance(Duration.ofMillis(299));
    assertThat(acquire(often).source()).isEqualTo(Source.DENY_CACHE);

    advance(Duration.ofMillis(1));

    assertThat(acquire(often).allowed()).isTrue();
  }

  @Test
  void whatWasGivenBackElsewhereIsSeenAfterTheAge() {
    Verdict admitted = acquire();
    refuse(caller);
    admitted.receipt().refund().toCompletableFuture().join();

    advance(AGE.minusNanos(1_000));
    assertThat(acquire().allowed()).isFalse();
    advance(Duration.ofNanos(1_000));
    assertThat(acquire().allowed()).isTrue();
    assertThat(acquire().source()).isEqualTo(Source.STORE);
  }

  @Test
  void whoIsResetIsAdmittedAtOnce() {
    refuse(caller);

    cache.reset(caller.charges().stream().map(charge -> charge.key()).toList());

    assertThat(acquire().allowed()).isTrue();
  }

  @Test
  void onlyACallThatWouldTakeIsAnswered() {
    refuse(caller);

    cache.decide(caller, Mode.PEEK);
    cache.decide(caller, Mode.RECORD);

    assertThat(store.looks).isEqualTo(2);
  }

  @Test
  void aCallOfAnotherCostIsAskedFor() {
    LimitRequest ten = call(rule(10, MINUTE));
    acquire(ten);
    refuse(ten.withCost(10));

    assertThat(acquire(ten).allowed()).isTrue();
    assertThat(store.looks).isEqualTo(1);
  }

  @Test
  void aPolicyMayBeLeftOut() {
    LimitRequest each =
        LimitRequest.of(Policy.of("left out", rule(1, MINUTE)), new Subject("user", "somebody"));
    refuse(each);

    acquire(each);

    assertThat(store.looks).isEqualTo(1);
  }

  @Test
  void whatAFallbackRefusesIsNotRemembered() {
    refuse(caller);
    store.failure = new StoreException(FailureReason.TIMEOUT, "away", null);
    LimitStore local = new MemoryStore(10, () -> clock);
    DenyCache before = new DenyCache(new FallbackStore(store, local));
    for (int i = 0; i < 3; i++) {
      assertThat(before.decide(caller, Mode.ACQUIRE).toCompletableFuture().join().source())
          .isEqualTo(Source.FALLBACK);
    }
  }

  @Test
  void aLookThatFailsForgetsWhatIsKnown() {
    refuse(caller);
    advance(AGE);
    store.failure = new StoreException(FailureReason.TIMEOUT, "away", null);

    for (int i = 1; i <= 3; i++) {
      assertThatThrownBy(this::acquire).isInstanceOf(CompletionException.class);
      assertThat(store.looks).isEqualTo(i);
    }
  }

  @Test
  void remembersSoManyCallersAndAsksForOthers() {
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
        small.decide(one, Mode.ACQUIRE);
      }
      advance(AGE);
    }
    LimitRequest last = call("caller 4.0", rule(1, MINUTE));
    small.decide(last, Mode.ACQUIRE);
    store.looks = 0;

    small.decide(last, Mode.ACQUIRE);

    assertThat(store.looks).isZero();
    assertThat(small.remembered()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT1.001S"})
  void anAgeThatMakesNoSenseIsRefused(String age) {
    assertThatThrownBy(() -> new DenyCache(store, policy -> true, 1, Duration.parse(age)))
        .hasMessageContaining(age)
        .hasMessageContaining("more than 0");
  }

  @Test
  void aSizeThatMakesNoSenseIsRefused() {
    assertThatThrownBy(() -> new DenyCache(store, policy -> true, 0, SECOND))
        .hasMessageContaining("size 0: give it 1 or more");
  }
}
