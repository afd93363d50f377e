// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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
 * <p>Counting never blocks. For a key with a counter it is an atomic increment. Another key needs a
 * lock; while another thread holds it, the occurrence is skipped. The bounds hold for all that was
 * not skipped.
 *
 * @param <V> what is kept with a key
 */
final class SpaceSaving<V> {

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

  private final int capacity;
  private final Map<String, Counter<V>> counters = new ConcurrentHashMap<>();
  private final LongAdder skipped = new LongAdder();
  private final ReentrantLock lock = new ReentrantLock();

  /**
   * @param capacity the number of counters, 1 or more
   */
  SpaceSaving(int capacity) {
    this.capacity = capacity;
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
      } finally {
        lock.unlock();
      }
    } else {
      skipped.increment();
    }
  }

  private void put(String key, V value) {
    if (hit(key)) { // another thread was first
      return;
    }
    long error = counters.size() < capacity ? 0 : takeLeast();
    if (error < 0) {
      skipped.increment();
    } else {
      counters.put(key, new Counter<>(key, value, error, new AtomicLong(error + 1)));
    }
  }

  /**
   * Ends a least counter, unless its key is counted meanwhile: then it may not be the least one any
   * more. The counts of the others only grow meanwhile.
   *
   * @return its count; below 0 if others always were faster
   */
  private long takeLeast() {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      Counter<V> least = null;
      long leastCount = Long.MAX_VALUE;
      for (Counter<V> one : counters.values()) {
        long count = one.count().get();
        if (count < leastCount) {
          least = one;
          leastCount = count;
        }
      }
      if (least != null && least.count().compareAndSet(leastCount, GONE)) {
        counters.remove(least.key());
        return leastCount;
      }
    }
    return -1;
  }

  /** The keys with counters, the most frequent first. Waits for the lock, for microseconds. */
  List<Estimate<V>> top() {
    return locked(
        () ->
            counters.values().stream()
                .map(one -> new Estimate<>(one.value(), one.count().get(), one.error()))
                .sorted(Comparator.<Estimate<V>>comparingLong(Estimate::count).reversed())
                .toList());
  }

  /** How many occurrences were not counted, because several threads counted new keys at once. */
  long skipped() {
    return skipped.sum();
  }

  /** Removes all keys. Occurrences meanwhile may count before or after this. */
  void clear() {
    locked(
        () -> {
          counters.values().forEach(one -> one.count().set(GONE));
          counters.clear();
          skipped.reset();
          return List.of();
        });
  }

  /** Runs an action while only increments happen. Counting does not wait for it. */
  <T> T locked(Supplier<T> action) {
    lock.lock();
    try {
      return action.get();
    } finally {
      lock.unlock();
    }
  }
}
