// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.StateKey;
import org.jspecify.annotations.Nullable;

/**
 * The logs of one stripe, least recently used first. No call sweeps the table. Each call inspects
 * the eldest log, or two if it may create a new one: an expired log is removed, a live one moves to
 * the end. So the calls themselves free the memory that calls have used. Guarded by its stripe.
 *
 * <p>The logs themselves are the entries of the hash table and of the list: an entry beside each
 * would be one more object that a call has to fetch from memory. Keys are hashes of their subjects,
 * so no caller can choose many of one bucket without trying out billions.
 */
final class LogTable {

  private static final int SMALLEST = 16;

  private @Nullable UnitLog[] buckets = new UnitLog[SMALLEST];
  private int size;
  private final int capacity;
  private final long graceMicros;
  private @Nullable UnitLog eldest;
  private @Nullable UnitLog youngest;

  /**
   * @param capacity the most logs; check {@link #full} before adding one
   * @param graceMicros how long an expired log is kept
   */
  LogTable(int capacity, long graceMicros) {
    this.capacity = capacity;
    this.graceMicros = graceMicros;
  }

  /** The log of a key; null if it has expired. */
  @Nullable UnitLog find(StateKey key, long clockMicros) {
    tidy(clockMicros);
    UnitLog log = peek(key);
    if (log != null && !log.expired(clockMicros, graceMicros)) {
      moveToEnd(log);
      return log;
    }
    tidy(clockMicros);
    return null;
  }

  /** The log of a key, expired or not. */
  @Nullable UnitLog peek(StateKey key) {
    int hash = key.hashCode();
    UnitLog log = buckets[bucket(hash)];
    while (log != null && (log.hash != hash || !key.equals(log.key))) {
      log = log.next;
    }
    return log;
  }

  private int bucket(int hash) {
    return (hash ^ hash >>> 16) & buckets.length - 1;
  }

  boolean full() {
    return size >= capacity;
  }

  int size() {
    return size;
  }

  void put(StateKey key, UnitLog log) {
    remove(key);
    if (size == buckets.length) {
      grow();
    }
    log.key = key;
    log.hash = key.hashCode();
    int bucket = bucket(log.hash);
    log.next = buckets[bucket];
    buckets[bucket] = log;
    size++;
    append(log);
  }

  private void grow() {
    @Nullable UnitLog[] smaller = buckets;
    buckets = new UnitLog[2 * smaller.length];
    for (UnitLog first : smaller) {
      UnitLog log = first;
      while (log != null) {
        UnitLog rest = log.next;
        int bucket = bucket(log.hash);
        log.next = buckets[bucket];
        buckets[bucket] = log;
        log = rest;
      }
    }
  }

  void remove(StateKey key) {
    UnitLog removed = peek(key);
    if (removed == null) {
      return;
    }
    int bucket = bucket(removed.hash);
    UnitLog before = buckets[bucket];
    if (before == removed) {
      buckets[bucket] = removed.next;
    } else {
      while (before != null && before.next != removed) {
        before = before.next;
      }
      if (before != null) {
        before.next = removed.next;
      }
    }
    removed.next = null;
    size--;
    unlink(removed);
  }

  /** Inspects the eldest log. */
  private void tidy(long clockMicros) {
    UnitLog first = eldest;
    if (first == null) {
      return;
    }
    StateKey key = first.key;
    if (key != null && first.expired(clockMicros, graceMicros)) {
      remove(key);
    } else {
      moveToEnd(first);
    }
  }

  private void moveToEnd(UnitLog log) {
    if (log != youngest) {
      unlink(log);
      append(log);
    }
  }

  private void append(UnitLog log) {
    UnitLog last = youngest;
    log.elder = last;
    if (last == null) {
      eldest = log;
    } else {
      last.younger = log;
    }
    youngest = log;
  }

  private void unlink(UnitLog log) {
    UnitLog before = log.elder;
    UnitLog after = log.younger;
    if (before == null) {
      eldest = after;
    } else {
      before.younger = after;
    }
    if (after == null) {
      youngest = before;
    } else {
      after.elder = before;
    }
    log.elder = null;
    log.younger = null;
  }

  void clear() {
    buckets = new UnitLog[SMALLEST];
    size = 0;
    eldest = null;
    youngest = null;
  }
}
