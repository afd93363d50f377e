// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.StateKey;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The logs of one stripe, least recently used first. No call sweeps the table. Each call inspects
 * the eldest log, or two if it may create a new one: an expired log is removed, a live one moves to
 * the end. So the calls themselves free the memory that calls have used. Guarded by its stripe.
 */
final class LogTable {

  private final LinkedHashMap<StateKey, UnitLog> logs = new LinkedHashMap<>(16, 0.75f, true);
  private final int capacity;
  private final long graceMicros;

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
    UnitLog log = logs.get(key);
    if (log != null && !log.expired(clockMicros, graceMicros)) {
      return log;
    }
    tidy(clockMicros);
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

  /** Inspects the eldest log. */
  private void tidy(long clockMicros) {
    if (!logs.isEmpty()) {
      Map.Entry<StateKey, UnitLog> eldest = logs.entrySet().iterator().next();
      if (eldest.getValue().expired(clockMicros, graceMicros)) {
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
