// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.util.List;

/**
 * What is asked of a stack at every call, worked out once; for authors of stores. To ask a rule
 * itself is slow where it is of several kinds: its class has to be looked through, and a window may
 * have to be calculated. Rules are given by their index in {@link RuleStack#rules()}.
 */
public final class StackShape {

  private final Duration[] windows;
  private final long[] micros;
  private final int[] places;
  private final int logs;
  private final long kept;
  private final long horizon;
  private final int longestLog;

  StackShape(List<Rule> rules) {
    windows = new Duration[rules.size()];
    micros = new long[windows.length];
    places = new int[windows.length];
    int logged = 0;
    long most = 0;
    long longest = 0;
    int longestAt = -1;
    for (int r = 0; r < windows.length; r++) {
      windows[r] = rules.get(r).window();
      micros[r] = Micros.of(windows[r]);
      if (rules.get(r) instanceof LoggedRule log) {
        places[r] = -1;
        logged++;
        most = Math.max(most, log.kept());
        if (micros[r] > longest) {
          longest = micros[r];
          longestAt = r;
        }
      } else {
        places[r] = r - logged;
      }
    }
    logs = logged;
    kept = most;
    horizon = longest;
    longestLog = longestAt;
  }

  /** How many of the rules are a {@link LoggedRule}. */
  public int logs() {
    return logs;
  }

  /** Whether a rule is a {@link LoggedRule}. */
  public boolean isLog(int rule) {
    return places[rule] < 0;
  }

  /** The place of a rule among those that keep numbers instead of a log; below 0 if it is a log. */
  public int place(int rule) {
    return places[rule];
  }

  /** {@link Rule#window} in microseconds. */
  public long windowMicros(int rule) {
    return micros[rule];
  }

  /** The most units that any log remembers; 0 without logs. */
  public long kept() {
    return kept;
  }

  /** The first of the rules with the longest window of all that are logs; -1 without logs. */
  public int longestLog() {
    return longestLog;
  }

  /**
   * How many units more a log has once a call has taken its own. A call that is admitted takes what
   * it costs. One that is only recorded may find less room: then units that were there go for its
   * own, the oldest first, and these are not to be given back for it. Where rules of other stacks
   * have a log keep more than these ask for, fewer than that go, and it is less than it might be.
   *
   * @param used units before the call, within the longest window
   */
  public int loggedUnits(int cost, long used) {
    return (int) Math.max(0, Math.min(cost, kept - used));
  }

  /** The longest window of the logs in microseconds; 0 without logs. */
  public long horizon() {
    return horizon;
  }

  /** {@link Rule#window}, always the same object. */
  public Duration window(int rule) {
    return windows[rule];
  }

  /** Microseconds as a duration, without making another object of the window itself. */
  public Duration duration(long wanted, int rule) {
    return wanted == micros[rule] ? windows[rule] : Micros.toDuration(wanted);
  }
}
