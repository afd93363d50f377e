// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.testing.Pauses;
import io.limiter.micronaut.testing.StoreDecorator;
import java.time.Duration;
import java.util.Comparator;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A store that records the outcomes of its decisions. */
final class WatchedStore extends StoreDecorator {

  private final Notes notes;

  WatchedStore(LimitStore store, Notes notes) {
    super(store);
    this.notes = notes;
  }

  private record Decision(Mode mode, long begin, long end) {}

  /** The outcomes of all decisions. */
  static final class Notes {

    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private final Queue<Decision> decisions = new ConcurrentLinkedQueue<>();
    private final AtomicInteger pending = new AtomicInteger();

    Notes() {
      Pauses.watch();
    }

    Queue<Throwable> failures() {
      return failures;
    }

    int pending() {
      return pending.get();
    }

    /** Calls that were decided, by any store. */
    long decided() {
      return decisions.stream().filter(decision -> decision.mode() == Mode.ACQUIRE).count();
    }

    /** The longest of those that ended after this moment, without the pauses of this machine. */
    Duration slowestSince(long nanos) {
      return decisions.stream()
          .filter(decision -> decision.end() - nanos > 0)
          .map(decision -> Pauses.without(decision.begin(), decision.end()))
          .max(Comparator.naturalOrder())
          .orElse(Duration.ZERO);
    }
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    notes.pending.incrementAndGet();
    long begin = System.nanoTime();
    return store
        .decide(request, mode)
        .whenComplete(
            (verdict, failure) -> {
              if (failure != null) {
                notes.failures.add(failure);
              }
              notes.decisions.add(new Decision(mode, begin, System.nanoTime()));
              notes.pending.decrementAndGet();
            });
  }
}
