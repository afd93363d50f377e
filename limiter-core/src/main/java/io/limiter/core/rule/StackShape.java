// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.util.List;

/**
 * Values of a stack that are needed at every call, computed once; for authors of stores. Calling
 * the rule itself is slow where the call site sees several rule types, and its window may have to
 * be calculated. Rules are given by their index in {@link RuleStack#rules()}.
 */
public final class StackShape {

  private final Duration[] windows;
  private final long[] windowsMicros;
  private final int[] places;
  private final Rule[] keepers;
  private final int logs;
  private final long kept;
  private final long horizonMicros;
  private final int longestLog;
  private final boolean custom;

  StackShape(List<Rule> rules) {
    windows = new Duration[rules.size()];
    windowsMicros = new long[windows.length];
    places = new int[windows.length];
    keepers = rules.stream().filter(rule -> !(rule instanceof LoggedRule)).toArray(Rule[]::new);
    int logged = 0;
    long most = 0;
    long longest = 0;
    int longestAt = -1;
    for (int r = 0; r < windows.length; r++) {
      windows[r] = rules.get(r).window();
      windowsMicros[r] = Micros.of(windows[r]);
      if (rules.get(r) instanceof LoggedRule log) {
        places[r] = -1;
        logged++;
        most = Math.max(most, log.kept());
        if (windowsMicros[r] > longest) {
          longest = windowsMicros[r];
          longestAt = r;
        }
      } else {
        places[r] = r - logged;
      }
    }
    logs = logged;
    custom = rules.stream().anyMatch(rule -> rule instanceof CustomRule);
    kept = most;
    horizonMicros = longest;
    longestLog = longestAt;
  }

  /** The number of rules that are a {@link LoggedRule}. */
  public int logs() {
    return logs;
  }

  /** Whether a rule is a {@link LoggedRule}. */
  public boolean isLog(int rule) {
    return places[rule] < 0;
  }

  /** The index of a rule among those that keep numbers instead of a log; below 0 if it is a log. */
  public int place(int rule) {
    return places[rule];
  }

  /** The number of rules that keep numbers instead of a log. */
  public int cells() {
    return keepers.length;
  }

  /** One of the rules that keep numbers instead of a log, by its {@link #place}. */
  public Rule rule(int place) {
    return keepers[place];
  }

  /** Whether one of the rules is a {@link CustomRule}, whose algorithm may throw. */
  public boolean custom() {
    return custom;
  }

  /** {@link Rule#window} in microseconds. */
  public long windowMicros(int rule) {
    return windowsMicros[rule];
  }

  /** The most units that any log keeps; 0 without logs. */
  public long kept() {
    return kept;
  }

  /** The first of the logged rules with the longest window; -1 without logs. */
  public int longestLog() {
    return longestLog;
  }

  /**
   * The number of units by which a log grows when a call takes its units. An admitted call adds its
   * cost. A call that is only recorded may find less room; then its units replace the oldest ones,
   * and the replaced ones must not be given back for it. If rules of other stacks make the log keep
   * more units than this stack needs, fewer units are replaced, and this number is lower than the
   * actual growth.
   *
   * @param used units before the call, within the longest window
   */
  public int loggedUnits(int cost, long used) {
    return (int) Math.max(0, Math.min(cost, kept - used));
  }

  /** The longest window of the logs; 0 without logs. */
  public long horizonMicros() {
    return horizonMicros;
  }

  /** {@link Rule#window}, always the same object. */
  public Duration window(int rule) {
    return windows[rule];
  }

  /**
   * Converts microseconds to a duration; returns the existing object if they equal the rule's
   * window.
   */
  public Duration duration(long micros, int rule) {
    return micros == windowsMicros[rule] ? windows[rule] : Micros.toDuration(micros);
  }
}
