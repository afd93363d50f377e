// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.management;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * The most frequent of any number of keys, in bounded memory: the space-saving algorithm (Metwally,
 * Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams",
 * ICDT 2005). It has a fixed number of counters. A key without a counter takes over the least one
 * and continues from its count, which is the error of the new one. So, after n occurrences,
 *
 * <ul>
 *   <li>the count of a key is at most its estimate, and at least its estimate less its error;
 *   <li>a key that occurred more than n / counters times has a counter.
 * </ul>
 *
 * <p>No thread waits that counts. A key with a counter is an atomic increment. For another key a
 * lock is tried; while another thread has it, the key is queued, and beyond {@value #MAX_PENDING}
 * of them it is skipped. The bounds hold for all that was not skipped.
 *
 * @param <V> what is kept with a key
 */
final class SpaceSaving<V> {

  /** The most keys that wait for the lock. */
  static final int MAX_PENDING = 1_024;

  /** How many of them one thread counts for others. */
  private static final int HELPED = 64;

  /** How often the least counter is searched again, because it was incremented meanwhile. */
  private static final int ATTEMPTS = 4;

  /** The count of a counter that another key has taken over; increments keep it negative. */
  private static final long GONE = Long.MIN_VALUE;

  /**
   * A key's estimate.
   *
   * @param value what is kept with it
   * @param count the most that it may have occurred
   * @param error how much less it may have been
   */
  record Estimate<V>(V value, long count, long error) {}

  private record Counter<V>(String key, V value, long error, AtomicLong count) {}

  private record PendingValue<V>(String key, V value) {}

  private final int capacity;
  private final Map<String, Counter<V>> counters = new ConcurrentHashMap<>();
  private final Queue<PendingValue<V>> pending = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final LongAdder skipped = new LongAdder();
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock. Counts only grow, so none is below leastCount, and those that may still
  // have it are found at once: a flood of new keys searches all counters once for many of them.
  private final List<Counter<V>> slots;
  private final int[] least;
  private int leastSize;
  private long leastCount;

  /**
   * @param capacity the number of counters, 1 or more
   */
  SpaceSaving(int capacity) {
    this.capacity = capacity;
    this.slots = new ArrayList<>(capacity);
    this.least = new int[capacity];
  }

  /** Counts a key that has a counter; returns whether it has one. */
  boolean hit(String key) {
    Counter<V> counter = counters.get(key);
    return counter != null && counter.count().getAndIncrement() >= 0;
  }

  /** Counts a key that had no counter. */
  void miss(String key, V value) {
    if (lock.tryLock()) {
      try {
        put(key, value);
        putPending(HELPED);
      } finally {
        lock.unlock();
      }
    } else if (waiting.incrementAndGet() <= MAX_PENDING) {
      pending.add(new PendingValue<>(key, value)); // the next miss, or a reader, counts it
    } else {
      waiting.decrementAndGet();
      skipped.increment();
    }
  }

  private void putPending(int atMost) {
    for (int i = 0; i < atMost; i++) {
      PendingValue<V> next = pending.poll();
      if (next == null) {
        return;
      }
      waiting.decrementAndGet();
      put(next.key(), next.value());
    }
  }

  private void put(String key, V value) {
    if (hit(key)) { // another thread was first
      return;
    }
    if (slots.size() < capacity) {
      Counter<V> first = new Counter<>(key, value, 0, new AtomicLong(1));
      slots.add(first);
      counters.put(key, first);
      return;
    }
    int slot = takeLeast();
    if (slot < 0) {
      skipped.increment();
      return;
    }
    counters.remove(slots.get(slot).key());
    Counter<V> heir = new Counter<>(key, value, leastCount, new AtomicLong(leastCount + 1));
    slots.set(slot, heir);
    counters.put(key, heir);
  }

  /**
   * Ends a counter that no other one is below, which has {@link #leastCount}. Its key may not be
   * counted in between: if it was, it is not the least one.
   *
   * @return its slot; below 0 if others always were faster
   */
  private int takeLeast() {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      while (leastSize > 0) {
        int slot = least[--leastSize];
        if (slots.get(slot).count().compareAndSet(leastCount, GONE)) {
          return slot;
        }
      }
      findLeast();
    }
    return -1;
  }

  private void findLeast() {
    leastCount = Long.MAX_VALUE;
    for (int slot = 0; slot < slots.size(); slot++) {
      long count = slots.get(slot).count().get();
      if (count < leastCount) {
        leastCount = count;
        leastSize = 0;
      }
      if (count == leastCount) {
        least[leastSize++] = slot;
      }
    }
  }

  /** The keys with counters, the most frequent first. Waits for the lock, for microseconds. */
  List<Estimate<V>> top() {
    return locked(
        () ->
            slots.stream()
                .map(one -> new Estimate<>(one.value(), one.count().get(), one.error()))
                .sorted(Comparator.<Estimate<V>>comparingLong(Estimate::count).reversed())
                .toList());
  }

  /** How many occurrences were not counted, because too many threads counted at once. */
  long skipped() {
    return skipped.sum();
  }

  /** Starts again with no key. Occurrences meanwhile may count before or after it. */
  void clear() {
    locked(
        () -> {
          slots.forEach(one -> one.count().set(GONE));
          slots.clear();
          counters.clear();
          skipped.reset();
          leastSize = 0;
          return List.of();
        });
  }

  /** Runs an action while nothing but increments happens. Who counts does not wait for it. */
  <T> T locked(Supplier<T> action) {
    lock.lock();
    try {
      putPending(MAX_PENDING);
      return action.get();
    } finally {
      lock.unlock();
    }
  }
}
