// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.Key;
import io.limiter.core.Mode;
import io.limiter.core.Readings;
import io.limiter.core.Rule;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One charge of one decision: the log it meets, what that log says, and what becomes of it. Times
 * are microseconds. All methods are called under the lock of the stripe.
 */
final class Reading {

  final Charge charge;
  final int stripe;

  /** For each rule: units left, then the wait; as {@link Readings} describes them. */
  private final long[] found;

  private LogTable table;
  private Key key;
  private boolean kept = true;
  private @Nullable UnitLog log;
  private long now;
  private long shift;
  private long sinceNewest = Long.MAX_VALUE;

  Reading(Charge charge, int stripe, LogTable subjects) {
    this.charge = charge;
    this.stripe = stripe;
    this.key = charge.key();
    this.table = subjects;
    this.found = new long[2 * charge.stack().rules().size()];
  }

  long left(int rule) {
    return found[2 * rule];
  }

  long waitFor(int rule) {
    return found[2 * rule + 1];
  }

  long sinceNewest() {
    return sinceNewest;
  }

  /** Finds the log. Returns whether it may have one: if not, the stripe is full. */
  boolean find(long clock) {
    log = table.find(key, clock);
    return log != null || !table.full();
  }

  /** Shares the log of the overflow. */
  void share(LogTable overflows, Key overflow, long clock) {
    table = overflows;
    key = overflow;
    log = overflows.find(overflow, clock);
  }

  /** Is not remembered at all. */
  void forgo() {
    kept = false;
  }

  /** Reads the log. Returns whether every rule admits the charge. */
  boolean read(long clock, Mode mode) {
    int size = 0;
    now = clock;
    if (log != null) {
      size = log.size();
      shift = log.shift();
      sinceNewest = clock + shift - log.newest();
      if (sinceNewest < 0) { // the clock was set back: the log's time goes on from its newest unit
        shift -= sinceNewest;
        sinceNewest = 0;
      }
      now = clock + shift;
    }
    boolean admitted = true;
    List<Rule> rules = charge.stack().rules();
    for (int r = 0; r < rules.size(); r++) {
      long count = rules.get(r).count();
      long window = Readings.micros(rules.get(r).window());
      int first = log == null ? 0 : log.firstYounger(now, window);
      long left = count - size + first;
      // The unit that must leave first: for units to come back,
      long leaves = first;
      if (left < charge.cost()) {
        // for this call to pass, or, after a record, for any call to pass.
        leaves = size + charge.cost() - count - (mode == Mode.RECORD ? 0 : 1);
        admitted &= mode == Mode.RECORD;
      }
      found[2 * r] = left;
      if (log != null && leaves < size) {
        found[2 * r + 1] = window - (now - log.stamp((int) leaves));
      } else {
        boolean never = left < charge.cost() && mode != Mode.RECORD;
        found[2 * r + 1] = never ? Readings.NEVER : window;
      }
    }
    return admitted;
  }

  /** Takes the units. */
  void take() {
    if (!kept) {
      return;
    }
    if (log == null) {
      log = new UnitLog();
      table.put(key, log);
    }
    long count = 0;
    long window = 0;
    List<Rule> rules = charge.stack().rules();
    for (int r = 0; r < rules.size(); r++) {
      count = Math.max(count, rules.get(r).count());
      window = Math.max(window, Readings.micros(rules.get(r).window()));
    }
    log.shiftTo(shift);
    log.take(now, charge.cost(), count, window);
  }

  /**
   * The one thing a denied call writes: without it a log whose clock was set back by an hour would
   * deny for an hour.
   */
  void repair() {
    if (log != null) {
      log.shiftTo(shift);
    }
  }

  /** Gives back what {@link #take} took, as far as it is still there. */
  int giveBack() {
    return kept ? table.giveBack(key, now, charge.cost()) : 0;
  }
}
