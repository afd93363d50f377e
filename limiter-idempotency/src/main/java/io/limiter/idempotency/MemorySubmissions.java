// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps submissions within this process. Every stage that it returns is complete.
 *
 * <p>The store is bounded, and removes nothing before its time, since what is removed may run
 * again: while it is full, claims fail with the reason {@link FailureReason#OVERLOADED}, and an
 * answer without room is kept as done.
 */
final class MemorySubmissions implements SubmissionStore {

  private static final Duration LONGEST = Duration.ofDays(366);

  /** The expired values that one command removes at most; each command adds one at most. */
  private static final int EXPIRED = 16;

  private final int maxEntries;
  private final long maxBytes;
  private final long bytesOfSubject;
  private final LongSupplier nanos;

  // Guarded by this object. Each value is in the first two.
  private final Map<StateKey, Slot> slots = new HashMap<>();
  private final TreeSet<Slot> byEnd = new TreeSet<>(Slot::compareEnds);

  /** The bytes of answers by subject: by the tag of its keys. */
  private final Map<String, Long> used = new HashMap<>();

  private long usedByAll;
  private long created;

  /**
   * @param maxEntries the most submissions, 1 or more
   * @param maxBytes the most bytes of all answers
   * @param bytesOfSubject the most bytes of the answers of one subject
   * @param nanos a monotonic clock in nanoseconds, such as {@link System#nanoTime}
   */
  MemorySubmissions(int maxEntries, long maxBytes, long bytesOfSubject, LongSupplier nanos) {
    this.maxEntries = maxEntries;
    this.maxBytes = maxBytes;
    this.bytesOfSubject = bytesOfSubject;
    this.nanos = nanos;
  }

  @Override
  public synchronized CompletionStage<Found> claim(Claim claim, Duration time) {
    long nowNanos = removeExpired(EXPIRED);
    Slot known = live(claim.key(), nowNanos);
    if (known == null) {
      if (slots.size() >= maxEntries) {
        return CompletableFuture.failedFuture(
            new StoreException(
                FailureReason.OVERLOADED,
                "The memory store is full of %s submissions: increase its size, or keep them for a shorter time"
                    .formatted(maxEntries),
                null));
      }
      replace(claim.key(), null, Entry.of(claim), nowNanos, time);
      return done(Found.of(Found.Kind.CLAIMED));
    }
    return done(found(known, claim, nowNanos));
  }

  @Override
  public synchronized CompletionStage<Found> look(Claim claim) {
    long nowNanos = removeExpired(EXPIRED);
    Slot known = live(claim.key(), nowNanos);
    return done(known == null ? Found.of(Found.Kind.ABSENT) : found(known, claim, nowNanos));
  }

  private static Found found(Slot known, Claim claim, long nowNanos) {
    Found.Kind kind = known.entry.compare(claim);
    return kind == Found.Kind.DIFFERENT
        ? Found.of(kind)
        : new Found(
            kind,
            known.entry.body(),
            known.entry.answer(),
            Duration.ofNanos(known.endNanos - nowNanos));
  }

  @Override
  public synchronized CompletionStage<Boolean> renew(Claim claim, Duration time) {
    long nowNanos = removeExpired(EXPIRED);
    Slot known = live(claim.key(), nowNanos);
    Entry renewed = known == null ? null : known.entry.renewed(claim);
    if (renewed != null) {
      replace(claim.key(), known, renewed, nowNanos, time);
    }
    return done(renewed != null);
  }

  @Override
  public synchronized CompletionStage<Entry.Kept> end(Claim claim, End end, Duration time) {
    long nowNanos = removeExpired(EXPIRED);
    Slot known = live(claim.key(), nowNanos);
    if (known == null) {
      return done(Entry.Kept.LOST);
    }
    int bytes = end.answer().length;
    boolean hasRoom =
        usedByAll + bytes <= maxBytes
            && used.getOrDefault(claim.key().tag(), 0L) + bytes <= bytesOfSubject;
    Entry.Change change = known.entry.end(claim, end, hasRoom);
    if (change.next() == null) {
      remove(known);
    } else if (change.isWritten()) {
      replace(claim.key(), known, change.next(), nowNanos, time);
    }
    return done(change.kept());
  }

  @Override
  public synchronized CompletionStage<Void> forget(StateKey key) {
    Slot known = slots.get(key);
    if (known != null) {
      remove(known);
    }
    return CompletableFuture.completedFuture(null);
  }

  private @Nullable Slot live(StateKey key, long nowNanos) {
    Slot known = slots.get(key);
    if (known == null || known.endNanos - nowNanos > 0) {
      return known;
    }
    remove(known);
    return null;
  }

  private long removeExpired(int most) {
    long nowNanos = nanos.getAsLong();
    for (int i = 0; i < most && !byEnd.isEmpty(); i++) {
      Slot first = byEnd.first();
      if (first.endNanos - nowNanos > 0) {
        break;
      }
      remove(first);
    }
    return nowNanos;
  }

  private void replace(
      StateKey key, @Nullable Slot before, Entry entry, long nowNanos, Duration time) {
    if (before != null) {
      remove(before);
    }
    long endNanos = nowNanos + TimeUnit.MILLISECONDS.toNanos(millis(time));
    Slot slot = new Slot(key, entry, endNanos, created++);
    slots.put(key, slot);
    byEnd.add(slot);
    count(slot, entry.answer().length);
  }

  private void remove(Slot slot) {
    slots.remove(slot.key);
    byEnd.remove(slot);
    count(slot, -slot.entry.answer().length);
  }

  private void count(Slot slot, int bytes) {
    if (bytes != 0) {
      usedByAll += bytes;
      used.merge(
          slot.key.tag(), (long) bytes, (known, more) -> known + more == 0 ? null : known + more);
    }
  }

  /** The submissions that are kept, without those that have expired, and the bytes of answers. */
  synchronized long[] usage() {
    long unused = removeExpired(Integer.MAX_VALUE);
    return new long[] {slots.size(), usedByAll, used.size()};
  }

  /** A time in milliseconds, rounded up, within the range of all times here. */
  static long millis(Duration time) {
    Duration some = time.compareTo(LONGEST) < 0 ? time : LONGEST;
    return Math.max(1, TimeUnit.MILLISECONDS.convert(some.plusNanos(999_999)));
  }

  private static <T> CompletionStage<T> done(T found) {
    return CompletableFuture.completedFuture(found);
  }

  /**
   * A value with its end.
   *
   * @param number distinguishes values that end at the same time
   */
  private record Slot(StateKey key, Entry entry, long endNanos, long number) {

    /** The clock may overflow, so only differences are compared. */
    static int compareEnds(Slot one, Slot other) {
      long difference = one.endNanos - other.endNanos;
      return difference != 0 ? Long.signum(difference) : Long.compare(one.number, other.number);
    }
  }
}
