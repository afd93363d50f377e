// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.StateKey;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The logs of one stripe, least recently asked for first. No call sweeps the table. Each looks at
 * the eldest log, and at two if it may make a new one: an expired one goes, a live one moves behind
 * all others. So traffic itself gives back what it made. Guarded by its stripe.
 */
final class LogTable {

  private final LinkedHashMap<StateKey, UnitLog> logs = new LinkedHashMap<>(16, 0.75f, true);
  private final int capacity;
  private final long grace;

  /**
   * @param capacity logs at most; whoever adds one asks first whether the table is {@link #full}
   * @param grace microseconds for which an expired log is kept
   */
  LogTable(int capacity, long grace) {
    this.capacity = capacity;
    this.grace = grace;
  }

  /** The log of a key; none if it has expired. */
  @Nullable UnitLog find(StateKey key, long clock) {
    tidy(clock);
    UnitLog log = logs.get(key);
    if (log != null && !log.expired(clock, grace)) {
      return log;
    }
    tidy(clock);
    return null;
  }

  /** The log of a key, expired or not. */
  @Nullable UnitLog peek(StateKey key) {
    return logs.get(key);
  }

  boolean full() {
    return logs.size() >= capacity;
  }

  int size() {
    return logs.size();
  }

  void put(StateKey key, UnitLog log) {
    logs.put(key, log);
  }

  void remove(StateKey key) {
    logs.remove(key);
  }

  /** Looks at the eldest log. */
  private void tidy(long clock) {
    if (!logs.isEmpty()) {
      Map.Entry<StateKey, UnitLog> eldest = logs.entrySet().iterator().next();
      if (eldest.getValue().expired(clock, grace)) {
        logs.remove(eldest.getKey());
      } else {
        UnitLog unused = logs.get(eldest.getKey());
      }
    }
  }

  void clear() {
    logs.clear();
  }
}
