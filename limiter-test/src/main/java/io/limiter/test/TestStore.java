// SPDX-License-Identifier: Apache-2.0
package io.limiter.test;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.LimitStore.KnownUse;
import io.limiter.core.store.Mode;
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

/** The store of a test: it can forget everything, and remembers the latest denial. */
abstract sealed class TestStore implements LimitStore {

  private final AtomicLong decisions = new AtomicLong();
  private volatile @Nullable ForcedDenial latest;

  /**
   * @param number the number of the decision
   */
  private record ForcedDenial(long number, Verdict verdict) {}

  /** The store that decides now. */
  abstract LimitStore store();

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
      return store().decide(request, mode);
    }
    return store()
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

  @Override
  public void adopt(Charge charge, KnownUse known) {
    store().adopt(charge, known);
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return store().reset(keys);
  }

  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return store().liftBans(keys);
  }

  /** Memory on a clock that the test drives. */
  static final class Driven extends TestStore {

    private final int maxSubjects;
    private final TestClock clock;
    private volatile LimitStore memory;

    Driven(int maxSubjects, TestClock clock) {
      this.maxSubjects = maxSubjects;
      this.clock = clock;
      this.memory = new MemoryStore(maxSubjects, clock::micros);
    }

    @Override
    LimitStore store() {
      return memory;
    }

    /** Calls of the last test that are still running end on the store that admitted them. */
    @Override
    void forget() {
      clock.restart();
      memory = new MemoryStore(maxSubjects, clock::micros);
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

    private final LimitStore store;
    private final Set<StateKey> used = ConcurrentHashMap.newKeySet(); // of one test

    Shared(LimitStore store) {
      this.store = store;
    }

    @Override
    LimitStore store() {
      return store;
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

    @Override
    public void close() {
      store.close();
    }
  }
}
