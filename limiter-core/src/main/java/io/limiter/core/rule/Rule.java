// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * One limit: an algorithm with its numbers, and a name that is unique in its policy.
 *
 * <p>Names appear in header fields and error bodies, so they are short and plain; see {@link
 * RuleStack#requireName}.
 */
public sealed interface Rule
    permits Rule.LoggedRule,
        SlidingWindowCounterRule,
        FixedWindowRule,
        TokenBucketRule,
        LeakyBucketRule,
        CustomRule {

  /**
   * The largest count of a rule that keeps numbers: the largest integer of a header field, which
   * has 15 digits. The rules that keep each unit, and custom ones, have smaller ones.
   */
  long MAX_COUNT = 999_999_999_999_999L;

  /** The shortest window. */
  Duration MIN_WINDOW = Duration.ofMillis(1);

  /** The longest window: a leap year. */
  Duration MAX_WINDOW = Duration.ofDays(366);

  /** The longest lease under any rule. */
  Duration MAX_LEASE = Duration.ofSeconds(10);

  /** The longest name of a rule or a policy, in characters. */
  int MAX_NAME = 128;

  /** The name of this rule in header fields, error bodies and metrics. */
  String name();

  /** The most units that may be used within the {@link #window}. At least 1. */
  long count();

  /** The time over which units are counted. */
  Duration window();

  /**
   * Whether an admitted call may have to wait. Such a rule counts all calls: a departure that has
   * passed cannot be given back when the call ends.
   */
  default boolean waits() {
    return false;
  }

  /**
   * Whether its units are permits, which calls hold while they run. It counts all calls, and when
   * more permits will be free is unknown.
   */
  default boolean holdsPermits() {
    return false;
  }

  /**
   * What gives the stored numbers their meaning, as text: the algorithm and its times, never a
   * count. Rules of one shape read and write the same state; see {@link RuleStack#name}.
   */
  String shape();

  /**
   * The longest lease under this rule, at most {@link #MAX_LEASE}: an instance may take units in
   * advance and spend them within this time. Its window, or {@link #MAX_LEASE} if that is shorter;
   * zero if each call has to be decided by the store.
   */
  default Duration longestLease() {
    return window().compareTo(MAX_LEASE) < 0 ? window() : MAX_LEASE;
  }

  /**
   * Whether units count for as long as others come after them, like the debt of a bucket; otherwise
   * they no longer count in the window after the next one.
   */
  default boolean carriesOver() {
    return false;
  }

  /** The most units that are ever left: a call that costs more can never be admitted. */
  default long capacity() {
    return count();
  }

  /** Returns this rule under another name. */
  Rule withName(String name);

  /** Returns this rule with another count, under the same name. */
  Rule withCount(long count);

  /**
   * Returns this rule for one of several instances that count for themselves: all of its numbers of
   * units are divided and rounded up.
   *
   * @param instances the number of instances, 1 or more
   */
  default Rule share(int instances) {
    return withCount((count() + instances - 1) / instances);
  }

  /** A name derived from the numbers, such as {@code 10-per-60s} or {@code 3-per-500ms}. */
  static String nameOf(long count, Duration window) {
    return count + "-per-" + text(window);
  }

  private static String text(Duration window) {
    if (window.toNanosPart() == 0) {
      return window.toSeconds() + "s";
    }
    if (window.toNanosPart() % 1_000_000 == 0) {
      return window.toMillis() + "ms";
    }
    return window.dividedBy(ChronoUnit.MICROS.getDuration()) + "us";
  }

  /** A rule that keeps every unit. The rules of one stack share one log. */
  sealed interface LoggedRule extends Rule permits SlidingWindowLogRule, ConcurrencyLimitRule {

    /** The most units that are kept, {@link #count()} or more. */
    long kept();

    @Override
    default String shape() {
      return "log " + window();
    }
  }
}
