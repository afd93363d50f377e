// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.denycache;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A deny cache before a store that counts its calls, and a clock that the test drives. */
abstract class DenyCacheBench {

  static final Duration AGE = DenyCache.MAX_AGE;

  long clock = 1_700_000_000_000_000L;
  final Looks store = new Looks();
  final DenyCache cache = cache(100);
  final LimitRequest caller = call(rule(1, MINUTE));

  final DenyCache cache(int size) {
    return new DenyCache(
        store, policy -> !policy.name().equals("left out"), size, AGE, () -> 1_000 * clock);
  }

  /** A store that counts its calls, and may be slow to answer or fail. */
  final class Looks implements LimitStore {

    final MemoryStore memory = new MemoryStore(1_000, () -> clock);
    private final Queue<Runnable> held = new ArrayDeque<>();
    int looks;
    boolean slow;
    boolean closed;
    StoreException failure;
    Runnable breaks; // instead of returning a stage

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      looks++;
      if (breaks != null) {
        breaks.run();
        return null;
      }
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
      List<Runnable> now = List.copyOf(held);
      held.clear();
      now.forEach(Runnable::run); // which may ask again
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return memory.reset(keys);
    }

    @Override
    public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
      return memory.liftBans(keys);
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  final Verdict acquire() {
    return acquire(caller);
  }

  final Verdict acquire(LimitRequest request) {
    return cache.decide(request, Mode.ACQUIRE).toCompletableFuture().join();
  }

  final void advance(Duration time) {
    clock += time.toNanos() / 1_000;
  }

  final void deny(LimitRequest request) {
    while (acquire(request).allowed()) {}
    store.looks = 0;
  }
}
