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
 * Decides within this process, as the Redis store does over a network, decision by decision. Every
 * stage it returns is complete. Calls wait for each other only while they touch keys of the same
 * stripe, for less than a microsecond at usual counts.
 *
 * <p><b>Bounded.</b> It remembers at most about {@code maxSubjects} keys: one for each subject of a
 * limit and class of calls that is counted, and one for each submission within the time of a
 * duplicate guard. A key costs some 250 bytes, 8 to 16 for each unit within the longest window of a
 * log, never for more units than the largest count, and some 50 for each rule without a log.
 * Expired keys go as others are asked for. A live key is never evicted, since that would let a
 * denied caller in who floods the store with invented subjects. While there is no room:
 *
 * <ul>
 *   <li>subjects that are remembered are served as ever;
 *   <li>subjects that are not share an overflow for each limit and stripe: together they get what
 *       the rules allow a single one, and {@link #reset} does not free them;
 *   <li>a submission that is not remembered is no duplicate: the limits hold, the duplicate guard
 *       does not.
 * </ul>
 */
public final class MemoryStore implements LimitStore {

  /** The keys it remembers unless told otherwise. */
  public static final int DEFAULT_MAX_SUBJECTS = 100_000;

  /** As in Redis, where a log's time to live is a second longer than its longest window. */
  private static final long GRACE = 1_000_000;

  private final StripedState stripes;
  private volatile boolean closed;

  /** A store for {@value #DEFAULT_MAX_SUBJECTS} keys. */
  public MemoryStore() {
    this(DEFAULT_MAX_SUBJECTS);
  }

  /**
   * A store on a clock that nobody can set: the time of day when it was made, and {@link
   * System#nanoTime} from then on. Aligned windows may drift from the wall clock by as much as that
   * is corrected meanwhile.
   */
  public MemoryStore(int maxSubjects) {
    this(maxSubjects, sinceNow());
  }

  /**
   * @param maxSubjects keys at most, 1 or more
   * @param microseconds the clock, since the epoch: windows that are aligned begin by it. Other
   *     rules do not mind where it starts. If it is set back, nobody is denied for longer than the
   *     longest window, or than a ban lasts
   */
  public MemoryStore(int maxSubjects, LongSupplier microseconds) {
    this(maxSubjects, microseconds, GRACE);
  }

  MemoryStore(int maxSubjects, LongSupplier microseconds, long grace) {
    if (maxSubjects < 1) {
      throw new IllegalArgumentException(
          "A memory store for %d subjects: give it room for 1 or more".formatted(maxSubjects));
    }
    stripes = new StripedState(maxSubjects, microseconds, grace);
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
      long clock = stripes.clock();
      subjects.remove(charge.key());
      if (!subjects.full() && !closed) {
        AdoptedState.of(charge, known, clock).ifPresent(log -> subjects.put(charge.key(), log));
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

  /** How many keys are remembered, the expired that nobody has met yet among them. */
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

  /** What is remembered of a key, for tests. */
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
