// SPDX-License-Identifier: Apache-2.0
package io.limiter.test;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStore.SeenUse;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.store.DelegatingStore;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The store of a test, in front of all others: it can forget everything, and remembers the latest
 * denial.
 */
abstract sealed class TestStore extends DelegatingStore {

  private final AtomicLong decisions = new AtomicLong();
  private volatile @Nullable ForcedDenial latest;

  private TestStore(LimitStore store) {
    super(store);
  }

  /**
   * @param number the number of the decision
   */
  private record ForcedDenial(long number, Verdict verdict) {}

  /** Forgets all counts. */
  abstract void forget();

  /** How many calls were decided. */
  final long decisions() {
    return decisions.get();
  }

  /** The latest denial that is not among the first {@code before} decisions. */
  final Optional<Verdict> deniedAfter(long before) {
    ForcedDenial denial = latest;
    return denial != null && denial.number > before
        ? Optional.of(denial.verdict)
        : Optional.empty();
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    if (mode != Mode.ACQUIRE) {
      return store.decide(request, mode);
    }
    return store
        .decide(request, mode)
        .thenApply(
            verdict -> {
              long number = decisions.incrementAndGet();
              if (!verdict.allowed()) {
                latest = new ForcedDenial(number, verdict);
              }
              return verdict;
            });
  }

  /** Memory on a clock that the test drives. */
  static final class Driven extends TestStore {

    private final TestClock clock;

    /**
     * @param store decides by a {@link Memory} of this clock
     */
    Driven(LimitStore store, TestClock clock) {
      super(store);
      this.clock = clock;
    }

    @Override
    void forget() {
      clock.restart();
    }
  }

  /** Begins empty whenever its clock restarts. */
  static final class Memory implements LimitStore {

    private volatile LimitStore memory;

    /** Calls of the last test that are still running end on the store that admitted them. */
    Memory(int maxSubjects, TestClock clock) {
      memory = new MemoryStore(maxSubjects, clock::micros);
      clock.onRestart(() -> memory = new MemoryStore(maxSubjects, clock::micros));
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return memory.decide(request, mode);
    }

    @Override
    public void adopt(Charge charge, SeenUse known) {
      memory.adopt(charge, known);
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return memory.reset(keys);
    }

    @Override
    public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
      return memory.liftBans(keys);
    }

    /** Does nothing, as in production: the server decides its pending calls while it stops. */
    @Override
    public void close() {}
  }

  /** A store that cannot be replaced: the keys that it has decided about are reset. */
  static final class Shared extends TestStore {

    /** A script cannot take more than some thousands of keys. */
    private static final int KEYS_AT_ONCE = 500;

    private static final long LONGEST_SECONDS = 10;

    /** Never counted: forgetting it shows that the store answers. */
    private static final StateKey PROBE = StateKey.of("limiter-test", Subject.global());

    private final Set<StateKey> used = ConcurrentHashMap.newKeySet(); // of one test

    Shared(LimitStore store) {
      super(store);
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      for (int i = 0; i < request.size(); i++) {
        used.add(request.charge(i).key());
      }
      return super.decide(request, mode);
    }

    @Override
    void forget() {
      List<StateKey> keys = new ArrayList<>(used);
      keys.add(PROBE);
      for (int i = 0; i < keys.size(); i += KEYS_AT_ONCE) {
        await(store.reset(keys.subList(i, Math.min(keys.size(), i + KEYS_AT_ONCE))));
      }
      keys.forEach(used::remove);
    }

    private static void await(CompletionStage<Void> forgotten) {
      try {
        var unused = forgotten.toCompletableFuture().get(LONGEST_SECONDS, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(
            "Interrupted while deleting the counts of the last test", e);
      } catch (ExecutionException | TimeoutException e) {
        throw new IllegalStateException(
            "Redis does not answer, so the counts of the last test cannot be deleted: check that the Redis of redis.uri is running",
            e);
      }
    }
  }
}
