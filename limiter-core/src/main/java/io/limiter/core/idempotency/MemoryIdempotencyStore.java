// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.idempotency;

import io.limiter.core.Claim;
import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Submission;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps claims and answers within this process. Every stage that it returns is complete.
 *
 * <p>The store is bounded. While there is no room for a claim or an answer, the oldest answers are
 * removed; their submissions may run again. A claim is never removed before its time: while the
 * store is full of claims, others fail with the reason {@link FailureReason#OVERLOADED}, and so
 * does an answer that is longer than the bound of all answers.
 */
public final class MemoryIdempotencyStore implements IdempotencyStore {

  private static final Duration LONGEST = Duration.ofDays(366);

  /** The expired entries that one call removes at most; each call adds one at most. */
  private static final int EXPIRED = 16;

  private final int maxEntries;
  private final long maxBytes;
  private final LongSupplier nanos;

  // Guarded by this object. Each entry is in the first two; an answer is in all three.
  private final Map<StateKey, Entry> entries = new HashMap<>();
  private final TreeSet<Entry> byEnd = new TreeSet<>(Entry::compareEnds);
  private final Set<Entry> answers = new LinkedHashSet<>(); // oldest first

  private long answerBytes;
  private long created;

  /**
   * @param maxEntries the most claims and answers, 1 or more
   * @param maxBytes the most bytes of all answers together, 0 or more
   * @param nanos a monotonic clock in nanoseconds, such as {@link System#nanoTime}
   */
  public MemoryIdempotencyStore(int maxEntries, long maxBytes, LongSupplier nanos) {
    if (maxEntries < 1 || maxBytes < 0) {
      throw new IllegalArgumentException(
          "A memory store for %s submissions and %s bytes of answers: use 1 or more, and 0 or more"
              .formatted(maxEntries, maxBytes));
    }
    this.maxEntries = maxEntries;
    this.maxBytes = maxBytes;
    this.nanos = nanos;
  }

  @Override
  public synchronized CompletionStage<Claim> claim(Submission submission) {
    long nowNanos = removeExpired(EXPIRED);
    StateKey key = submission.key();
    Entry known = live(key, nowNanos);
    if (known != null) {
      return done(known.claim(submission.fingerprint(), nowNanos));
    }
    if (entries.size() >= maxEntries && !removeOldestAnswer()) {
      return failure(
          "The memory store is full of %s submissions that run: increase its size"
              .formatted(maxEntries));
    }
    byte[] token = ByteBuffer.allocate(Long.BYTES).putLong(created).array();
    add(
        new Entry(
            key,
            token,
            submission.fingerprint(),
            null,
            end(nowNanos, submission.time()),
            created++));
    return done(Claim.claimed(key, token));
  }

  @Override
  public synchronized CompletionStage<Boolean> renew(Claim claim, Duration time) {
    long nowNanos = removeExpired(EXPIRED);
    Entry own = find(claim, nowNanos);
    if (own == null || own.answer != null) {
      return done(false);
    }
    remove(own);
    add(own.renewed(end(nowNanos, time)));
    return done(true);
  }

  @Override
  public synchronized CompletionStage<Boolean> answer(Claim claim, byte[] answer, Duration retain) {
    long nowNanos = removeExpired(EXPIRED);
    Entry own = find(claim, nowNanos);
    if (own == null || own.answer != null) {
      return done(own != null);
    }
    if (answer.length > maxBytes) {
      return failure(
          "An answer of %s bytes does not fit into the %s bytes of the memory store: increase them, or answer with less"
              .formatted(answer.length, maxBytes));
    }
    while (answerBytes + answer.length > maxBytes) {
      removeOldestAnswer();
    }
    remove(own);
    add(own.answered(answer.clone(), end(nowNanos, retain)));
    return done(true);
  }

  @Override
  public synchronized CompletionStage<Boolean> release(Claim claim) {
    Entry own = find(claim, removeExpired(EXPIRED));
    if (own == null || own.answer != null) {
      return done(false);
    }
    remove(own);
    return done(true);
  }

  @Override
  public synchronized CompletionStage<Void> forget(StateKey key) {
    Entry known = entries.get(key);
    if (known != null) {
      remove(known);
    }
    return CompletableFuture.completedFuture(null);
  }

  /** The entry that this claim has made; null if it is lost. */
  private @Nullable Entry find(Claim claim, long nowNanos) {
    Entry known = live(claim.key(), nowNanos);
    return known != null && Arrays.equals(known.token, claim.token()) ? known : null;
  }

  private @Nullable Entry live(StateKey key, long nowNanos) {
    Entry known = entries.get(key);
    if (known == null || known.endNanos - nowNanos > 0) {
      return known;
    }
    remove(known);
    return null;
  }

  private long removeExpired(int most) {
    long nowNanos = nanos.getAsLong();
    for (int i = 0; i < most && hasExpired(nowNanos); i++) {
      remove(byEnd.first());
    }
    return nowNanos;
  }

  private boolean hasExpired(long nowNanos) {
    return !byEnd.isEmpty() && byEnd.first().endNanos - nowNanos <= 0;
  }

  /** Returns whether there was one. */
  private boolean removeOldestAnswer() {
    Iterator<Entry> oldest = answers.iterator();
    if (!oldest.hasNext()) {
      return false;
    }
    remove(oldest.next());
    return true;
  }

  private void add(Entry entry) {
    entries.put(entry.key, entry);
    byEnd.add(entry);
    if (entry.answer != null) {
      answers.add(entry);
      answerBytes += entry.answer.length;
    }
  }

  private void remove(Entry entry) {
    entries.remove(entry.key);
    byEnd.remove(entry);
    if (entry.answer != null) {
      answers.remove(entry);
      answerBytes -= entry.answer.length;
    }
  }

  /** The number of claims and answers that are kept, expired or not. */
  synchronized int kept() {
    return entries.size();
  }

  /** The number of claims and answers, without those that have expired. */
  synchronized int size() {
    long unused = removeExpired(Integer.MAX_VALUE);
    return entries.size();
  }

  /** The bytes of all answers, without those that have expired. */
  synchronized long answerBytes() {
    long unused = removeExpired(Integer.MAX_VALUE);
    return answerBytes;
  }

  private static long end(long nowNanos, Duration time) {
    Duration some = time.compareTo(LONGEST) < 0 ? time : LONGEST;
    long millis = TimeUnit.MILLISECONDS.convert(some.plusNanos(999_999));
    return nowNanos + TimeUnit.MILLISECONDS.toNanos(Math.max(1, millis));
  }

  private static <T> CompletionStage<T> done(T found) {
    return CompletableFuture.completedFuture(found);
  }

  private static <T> CompletionStage<T> failure(String message) {
    return CompletableFuture.failedFuture(
        new StoreException(FailureReason.OVERLOADED, message, null));
  }

  /** A claim, or an answer. */
  private static final class Entry {

    final StateKey key;
    final byte[] token;
    final byte[] fingerprint;
    final byte @Nullable [] answer;
    final long endNanos;

    /** Distinguishes entries that end at the same time. */
    final long number;

    Entry(
        StateKey key,
        byte[] token,
        byte[] fingerprint,
        byte @Nullable [] answer,
        long endNanos,
        long number) {
      this.key = key;
      this.token = token;
      this.fingerprint = fingerprint;
      this.answer = answer;
      this.endNanos = endNanos;
      this.number = number;
    }

    Entry renewed(long end) {
      return new Entry(key, token, fingerprint, null, end, number);
    }

    Entry answered(byte[] bytes, long end) {
      return new Entry(key, token, fingerprint, bytes, end, number);
    }

    Claim claim(byte[] wanted, long nowNanos) {
      if (!Arrays.equals(fingerprint, wanted)) {
        return Claim.different(key);
      }
      Duration left = Duration.ofNanos(endNanos - nowNanos);
      return answer == null ? Claim.running(key, left) : Claim.answered(key, answer, left);
    }

    /** The clock may overflow, so only differences are compared. */
    static int compareEnds(Entry one, Entry other) {
      long difference = one.endNanos - other.endNanos;
      return difference != 0 ? Long.signum(difference) : Long.compare(one.number, other.number);
    }
  }
}
