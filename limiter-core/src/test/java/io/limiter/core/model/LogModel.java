// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.Rule.LoggedRule;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The units of one key, oldest first, each with the microsecond at which it was taken. */
final class LogModel {

  private final List<Long> units = new ArrayList<>();

  private long newest() {
    return units.get(units.size() - 1);
  }

  boolean isEmpty() {
    return units.isEmpty();
  }

  /** The stamp of units that may be spent for a time: not before that of the newest. */
  long stamp(long now, long ahead) {
    return units.isEmpty() ? now + ahead : Math.max(now + ahead, newest());
  }

  /** The units that a rule still counts. */
  private List<Long> within(long now, LoggedRule rule) {
    int first = units.size();
    while (first > 0 && units.get(first - 1) > now - Plain.window(rule)) {
      first--;
    }
    return units.subList(first, units.size());
  }

  long left(long now, LoggedRule rule) {
    return rule.count() - within(now, rule).size();
  }

  /** The time until the oldest unit leaves; if there is none, that of a call. */
  long untilMore(long now, LoggedRule rule, long ahead) {
    List<Long> used = within(now, rule);
    return (used.isEmpty() ? now + ahead : used.get(0)) + Plain.window(rule) - now;
  }

  /**
   * The time until {@code wanted} units are left, once others are taken.
   *
   * @param ahead for how long the others may be spent
   * @return empty if never
   */
  Optional<Long> untilLeft(long now, LoggedRule rule, long wanted, int taken, long ahead) {
    if (wanted > rule.count()) {
      return Optional.empty();
    }
    List<Long> after = new ArrayList<>(within(now, rule));
    for (int i = 0; i < taken; i++) {
      after.add(stamp(now, ahead));
    }
    int left = after.size();
    long wait = 0;
    for (long unit : after) {
      if (left <= rule.count() - wanted) {
        break;
      }
      left--;
      wait = unit + Plain.window(rule) - now;
    }
    return Optional.of(wait);
  }

  long untilUnused(long now, LoggedRule rule) {
    return units.isEmpty() ? 0 : Math.max(0, newest() + Plain.window(rule) - now);
  }

  /**
   * The number of additional units that the rule with the longest window counts once some are
   * taken, in a log that keeps no more than these rules need: units without room replace the oldest
   * ones.
   */
  long more(long now, int taken, List<LoggedRule> rules) {
    long longest = rules.stream().mapToLong(Plain::window).max().orElseThrow();
    long most = rules.stream().mapToLong(LoggedRule::kept).max().orElseThrow();
    long before = units.stream().filter(unit -> unit > now - longest).count();
    long after = Math.min(most, before + taken);
    return Math.max(0, after - before);
  }

  /**
   * Takes units under these rules, and keeps as many as they need, or as were in the longest
   * window, if that is more: under larger counts.
   */
  void take(long now, long ahead, int taken, List<LoggedRule> rules) {
    take(now, ahead, taken, rules, most(now, rules));
  }

  /** The most units that are kept. */
  long most(long now, List<LoggedRule> rules) {
    long window = rules.stream().mapToLong(Plain::window).max().orElseThrow();
    long there = units.stream().filter(unit -> unit > now - window).count();
    return Math.max(rules.stream().mapToLong(LoggedRule::kept).max().orElseThrow(), there);
  }

  void take(long now, long ahead, int taken, List<LoggedRule> rules, long most) {
    long stamp = stamp(now, ahead);
    long window = rules.stream().mapToLong(Plain::window).max().orElseThrow();
    units.removeIf(unit -> unit <= now - window);
    for (int i = 0; i < taken; i++) {
      units.add(stamp);
    }
    if (units.size() > most) {
      units.subList(0, units.size() - (int) most).clear();
    }
  }

  /** Gives back up to so many units with this stamp. Returns how many. */
  int giveBack(long stamp, int taken) {
    int found = 0;
    while (found < taken && units.remove((Object) stamp)) {
      found++;
    }
    return found;
  }
}
