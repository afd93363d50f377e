// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * What happens to a key while another thread decides about it, and that no thread stays blocked.
 */
class MemoryStoreThreadsTest {

  /** Enough subjects to be found in all stripes. */
  private static final List<LimitRequest> CALLS =
      IntStream.range(0, 16).mapToObj(i -> call("subject " + i, rule(1, MINUTE))).toList();

  private final AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
  private final MemoryStore store = new MemoryStore(100_000, this::clock);
  private Thread other = new Thread(() -> {});
  private int readsBefore;

  private void whileReading(Runnable begun) {
    meanwhile.set(begun);
  }

  /** For a call of a new key, which is decided under the lock. */
  private void whileLocked(Runnable begun) {
    readsBefore = 1;
    meanwhile.set(begun);
  }

  /**
   * The clock is read while a call is decided: then something else begins, once. It is read before
   * the lock, and under the lock if the call has to be decided there.
   */
  private long clock() {
    if (readsBefore-- > 0) {
      return 0;
    }
    Runnable begun = meanwhile.getAndSet(null);
    if (begun != null) {
      other = new Thread(begun);
      other.start();
      while (other.getState() != Thread.State.WAITING
          && other.getState() != Thread.State.TERMINATED) {
        Thread.onSpinWait();
      }
    }
    return 0;
  }

  private Outcome outcome(LimitRequest call) {
    return acquire(call).outcome();
  }

  private Verdict acquire(LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  private static StateKey key(LimitRequest call) {
    return call.charge(0).key();
  }

  @Test
  void aCallWaitsForTheOneThatIsBeingDecided() throws InterruptedException {
    ConcurrentLinkedQueue<Outcome> second = new ConcurrentLinkedQueue<>();
    for (LimitRequest call : CALLS) {
      whileLocked(() -> second.add(outcome(call)));
      assertThat(outcome(call)).isEqualTo(Outcome.ALLOWED);
      other.join();
    }
    assertThat(second).hasSize(CALLS.size()).containsOnly(Outcome.LIMITED);
  }

  @Test
  void aCallOfTwoSubjectsWaitsIfOneOfThemMakesItWait() throws InterruptedException {
    ConcurrentLinkedQueue<Outcome> second = new ConcurrentLinkedQueue<>();
    for (int i = 0; i < CALLS.size(); i += 2) {
      LimitRequest either = CALLS.get(i);
      LimitRequest both = CALLS.get(i + 1).and(either);
      whileReading(() -> second.add(outcome(either))); // of several keys, at once under the locks
      assertThat(outcome(both)).isEqualTo(Outcome.ALLOWED);
      other.join();
    }
    assertThat(second).hasSize(CALLS.size() / 2).containsOnly(Outcome.LIMITED);
  }

  @Test
  void unitsThatAreGivenBackWhileACallReadsAreAvailableToIt() throws InterruptedException {
    for (LimitRequest call : CALLS) {
      Verdict first = acquire(call);
      whileReading(() -> first.reservation().refund());
      assertThat(outcome(call)).isEqualTo(Outcome.ALLOWED);
      other.join();
      assertThat(outcome(call)).isEqualTo(Outcome.LIMITED);
    }
  }

  @Test
  void unitsThatAreTakenWhileACallReadsAreNotTakenAgain() throws InterruptedException {
    for (Rule rule : List.of(rule(2, MINUTE), TokenBucketRule.of(2, 1, MINUTE))) {
      for (int i = 0; i < 16; i++) {
        LimitRequest call = call(rule + " of " + i, rule);
        acquire(call);
        List<Outcome> second = Collections.synchronizedList(new ArrayList<>());
        whileReading(() -> second.add(outcome(call)));
        Verdict verdict = acquire(call);
        other.join();
        assertThat(second).containsExactly(Outcome.ALLOWED);
        assertThat(verdict.outcome()).isEqualTo(Outcome.LIMITED);
        assertThat(verdict.rules().get(0).remaining()).isZero();
      }
    }
  }

  @Test
  void aDeniedCallWaitsForNoOther() throws InterruptedException {
    LimitRequest call = CALLS.get(0);
    acquire(call);
    AtomicReference<Outcome> denied = new AtomicReference<>();
    AtomicReference<Verdict> looked = new AtomicReference<>();
    whileReading(
        () -> {
          denied.set(outcome(call));
          looked.set(store.decide(call, Mode.PEEK).toCompletableFuture().join());
        });
    assertThat(outcome(call)).isEqualTo(Outcome.LIMITED);
    other.join();
    assertThat(denied).hasValue(Outcome.LIMITED);
    assertThat(looked.get().outcome()).isEqualTo(Outcome.LIMITED);
  }

  @Test
  void aResetDuringADecisionIncludesThatCall() throws InterruptedException {
    for (LimitRequest call : CALLS) {
      whileLocked(() -> store.reset(List.of(key(call), key(CALLS.get(0)))));
      acquire(call);
      other.join();
      assertThat(store.subjects()).isZero();
    }
  }

  @Test
  void returnedUnitsMakeNoCallWait() {
    List<Runnable> actions =
        List.of(
            () -> CALLS.forEach(this::acquire),
            () -> CALLS.forEach(call -> acquire(call).reservation().refund()),
            () -> store.reset(CALLS.stream().map(MemoryStoreThreadsTest::key).toList()),
            () -> store.subjects(),
            () -> CALLS.forEach(call -> store.dump(key(call))),
            store::close);
    List<Integer> counted = new ArrayList<>();
    for (Runnable action : actions) {
      action.run();
      CompletableFuture<Integer> elsewhere = CompletableFuture.supplyAsync(store::subjects);
      assertThat(elsewhere).succeedsWithin(SECOND);
      counted.add(elsewhere.join());
    }
    assertThat(counted).containsExactly(16, 16, 0, 0, 0, 0);
  }
}
