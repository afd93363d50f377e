// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.store.Mode;
import java.util.ArrayList;
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

  /** The clock is read while a call is decided: then something else begins, once. */
  private long clock() {
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
      meanwhile.set(() -> second.add(outcome(call)));
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
      meanwhile.set(() -> second.add(outcome(either)));
      assertThat(outcome(both)).isEqualTo(Outcome.ALLOWED);
      other.join();
    }
    assertThat(second).hasSize(CALLS.size() / 2).containsOnly(Outcome.LIMITED);
  }

  @Test
  void unitsThatAreGivenBackWhileACallIsDecidedComeBackAfterIt() throws InterruptedException {
    for (LimitRequest call : CALLS) {
      Verdict first = acquire(call);
      meanwhile.set(() -> first.reservation().refund());
      assertThat(outcome(call)).isEqualTo(Outcome.LIMITED);
      other.join();
      assertThat(outcome(call)).isEqualTo(Outcome.ALLOWED);
    }
  }

  @Test
  void aResetDuringADecisionIncludesThatCall() throws InterruptedException {
    for (LimitRequest call : CALLS) {
      meanwhile.set(() -> store.reset(List.of(key(call), key(CALLS.get(0)))));
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
