// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.StateKey;
import io.limiter.core.memory.UnitLog.LogTable;
import io.limiter.core.rule.BanRule;

/** The ban of a charge in one decision, if it has one that is enforced. */
final class BanEvaluation {

  private final BanRule rule;

  /** What holds the state, in a table of its own key. */
  private final UnitLog log;

  private BanState state;
  private boolean changes;
  private long micros;

  BanEvaluation(BanRule rule, LogTable table, StateKey key, long clockMicros) {
    UnitLog known = table.find(key, clockMicros);
    this.rule = rule;
    this.log = known == null ? new UnitLog(table, key) : known;
    this.state = log.ban().at(clockMicros);
    this.changes = !state.equals(log.ban());
    this.micros = state.restMicros(rule, clockMicros);
  }

  /** The remaining time of the ban; 0 if there is none. */
  long micros() {
    return micros;
  }

  /** Counts a violation, unless the subject is banned. */
  void violate(long clockMicros) {
    if (micros == 0) {
      state = state.violated(rule, clockMicros);
      micros = state.restMicros(rule, clockMicros);
      changes = true;
    }
  }

  /** Bans the subject, as another store did. */
  void adopt(long decidedMicros, long bannedMicros, long clockMicros) {
    state = new BanState(decidedMicros, 0, decidedMicros + bannedMicros, 1);
    changes = true;
    write(clockMicros);
  }

  /** Whether the call changed the ban. */
  boolean changes() {
    return changes;
  }

  /** Writes what has changed, if there is room for it. */
  void write(long clockMicros) {
    if (changes && log.findsRoomForBan(clockMicros)) {
      log.remember(state, rule);
      log.table().keep(log, clockMicros);
    }
  }
}
