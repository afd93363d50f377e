// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.store.KnownUse;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;

/**
 * Decides within this process, exactly as the Redis store decides over a network. Every stage that
 * it returns is complete. Calls block each other only while they touch keys of the same stripe, for
 * less than a microsecond at usual counts.
 *
 * <p><b>Bounded.</b> The store keeps about {@code maxSubjects} keys at most: one for each subject
 * of a limit key and class of calls that is counted, and one for each submission within the window
 * of a duplicate guard. A key takes about 250 bytes, plus 8 to 16 for each unit within the longest
 * window of a log (never more units than the largest count), plus about 50 for each rule without a
 * log. Expired keys are removed while other keys are used. A live key is never evicted, since a
 * denied caller could otherwise get in by flooding the store with invented subjects. While there is
 * no room:
 *
 * <ul>
 *   <li>subjects with a key are served as usual;
 *   <li>new subjects share an overflow for each limit key and stripe: together they get what the
 *       rules allow a single one, and {@link #reset} does not free them;
 *   <li>a new submission is not kept, so it is no duplicate: the limits hold, the duplicate guard
 *       does not.
 * </ul>
 */
public final class MemoryStore implements LimitStore {

  /** The default number of keys. */
  public static final int DEFAULT_MAX_SUBJECTS = 100_000;

  /** As in Redis, where a log's time to live is a second longer than its longest window. */
  private static final long GRACE_MICROS = 1_000_000;

  private final StripedState stripes;
  private volatile boolean closed;

  /** Creates a store for {@value #DEFAULT_MAX_SUBJECTS} keys. */
  public MemoryStore() {
    this(DEFAULT_MAX_SUBJECTS);
  }

  /**
   * Creates a store with a clock that cannot be set: the time of day at its creation, and {@link
   * System#nanoTime} from then on. Corrections of the wall clock make aligned windows drift from
   * it.
   */
  public MemoryStore(int maxSubjects) {
    this(maxSubjects, sinceNow());
  }

  /**
   * @param maxSubjects the most keys, 1 or more
   * @param clockMicros the clock in microseconds since the epoch. Aligned windows depend on it; for
   *     other rules its origin is irrelevant. If it is set back, no subject is denied for longer
   *     than the longest window, or than a ban lasts
   */
  public MemoryStore(int maxSubjects, LongSupplier clockMicros) {
    this(maxSubjects, clockMicros, GRACE_MICROS);
  }

  MemoryStore(int maxSubjects, LongSupplier clockMicros, long graceMicros) {
    if (maxSubjects < 1) {
      throw new IllegalArgumentException(
          "A memory store for %d subjects: give it room for 1 or more".formatted(maxSubjects));
    }
    stripes = new StripedState(maxSubjects, clockMicros, graceMicros);
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    if (closed) {
      return failure();
    }
    try {
      return CompletableFuture.completedFuture(new MemoryDecision(request, stripes).decide(mode));
    } catch (StoreException algorithmFailed) {
      return CompletableFuture.failedFuture(algorithmFailed);
    }
  }

  /** Does nothing if there is no room for the key. */
  @Override
  public void adopt(Charge charge, KnownUse known) {
    int index = stripes.indexOf(charge.key());
    stripes.lock(1L << index);
    try {
      LogTable subjects = stripes.get(index).subjects;
      long clockMicros = stripes.clockMicros();
      subjects.remove(charge.key());
      if (!subjects.full() && !closed) {
        AdoptedState.of(charge, known, clockMicros)
            .ifPresent(log -> subjects.put(charge.key(), log));
      }
    } finally {
      stripes.unlock(1L << index);
    }
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    if (closed) {
      return failure();
    }
    long mask = 0;
    for (StateKey key : keys) {
      mask |= 1L << stripes.indexOf(key);
    }
    stripes.lock(mask);
    try {
      for (StateKey key : keys) {
        stripes.get(stripes.indexOf(key)).subjects.remove(key);
      }
    } finally {
      stripes.unlock(mask);
    }
    return CompletableFuture.completedFuture(null);
  }

  /** The bans of new subjects that share an overflow stay. */
  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    if (closed) {
      return failure();
    }
    for (StateKey key : keys) {
      int index = stripes.indexOf(key);
      stripes.lock(1L << index);
      try {
        UnitLog log = stripes.get(index).subjects.peek(key);
        CellArray cells = log == null ? null : log.cells();
        if (cells != null) {
          cells.liftBan();
        }
      } finally {
        stripes.unlock(1L << index);
      }
    }
    return CompletableFuture.completedFuture(null);
  }

  /** The number of keys, including expired ones that have not been removed yet. */
  public int subjects() {
    int sum = 0;
    for (int i = 0; i < stripes.count(); i++) {
      stripes.lock(1L << i);
      try {
        sum += stripes.get(i).subjects.size();
      } finally {
        stripes.unlock(1L << i);
      }
    }
    return sum;
  }

  /** The state of a key, for tests. */
  Optional<String> dump(StateKey key) {
    int index = stripes.indexOf(key);
    stripes.lock(1L << index);
    try {
      return Optional.ofNullable(stripes.get(index).subjects.peek(key)).map(UnitLog::toString);
    } finally {
      stripes.unlock(1L << index);
    }
  }

  @Override
  public void close() {
    closed = true;
    for (int i = 0; i < stripes.count(); i++) {
      stripes.lock(1L << i);
      try {
        stripes.get(i).subjects.clear();
        stripes.get(i).overflows.clear();
      } finally {
        stripes.unlock(1L << i);
      }
    }
  }

  private static <T> CompletionStage<T> failure() {
    return CompletableFuture.failedFuture(
        new StoreException(FailureReason.DISCONNECTED, "The memory store is closed", null));
  }

  private static LongSupplier sinceNow() {
    long start = System.nanoTime();
    long wall = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    return () -> wall + (System.nanoTime() - start) / 1_000;
  }
}
