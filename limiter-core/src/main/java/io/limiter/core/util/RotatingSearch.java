// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import java.util.Iterator;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Frees room in a full map, a few entries at a time, so that no call inspects all of them.
 * Thread-safe; no thread waits for another.
 */
public final class RotatingSearch<V> {

  /** The entries that one search inspects. */
  public static final int INSPECTED = 16;

  private final ConcurrentMap<?, V> map;

  /** Where the next search continues; null while a thread searches. */
  private final AtomicReference<@Nullable Iterator<V>> next;

  public RotatingSearch(ConcurrentMap<?, V> map) {
    this.map = map;
    this.next = new AtomicReference<>(map.values().iterator());
  }

  /** Inspects the next entries of the map, and removes those whose values are useless. */
  public void removeSome(Predicate<? super V> useless) {
    Iterator<V> entries = next.getAndSet(null);
    if (entries == null) {
      return;
    }
    try {
      for (int i = 0; i < INSPECTED; i++) {
        if (!entries.hasNext()) {
          entries = map.values().iterator();
        }
        if (entries.hasNext() && useless.test(entries.next())) {
          entries.remove();
        }
      }
    } finally {
      next.set(entries);
    }
  }
}
