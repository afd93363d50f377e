// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * One limit: an algorithm with its numbers, and a name that is unique in its policy.
 *
 * <p>Names appear in header fields and error bodies, so they are short and plain; see {@link
 * #requireName}.
 */
public sealed interface Rule
    permits Rule.LoggedRule,
        SlidingWindowCounter,
        FixedWindowRule,
        TokenBucketRule,
        LeakyBucketRule,
        CustomRule {

  /** The largest count of a rule that keeps a number; an exact log has a smaller one. */
  long MAX_COUNT = 1_000_000_000;

  /** The shortest window. */
  Duration MIN_WINDOW = Duration.ofMillis(1);

  /** The longest window: a leap year. */
  Duration MAX_WINDOW = Duration.ofDays(366);

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

  /** The most units that are ever left: a call that costs more can never be admitted. */
  default long capacity() {
    return count();
  }

  /** Returns this rule under another name. */
  Rule withName(String name);

  /** Returns this rule with another count, under the same name. */
  Rule withCount(long count);

  /**
   * Checks a name: 1 to {@value #MAX_NAME} printable ASCII characters without space, quote or
   * backslash, so that it can be used unescaped in a header field, a metric's tag and a
   * configuration key.
   *
   * @param what what is named, for the message: "rule", "policy"
   * @throws IllegalArgumentException if the name is invalid; the message gives the name and the
   *     remedy
   */
  static String requireName(String what, String name) {
    boolean valid = !name.isEmpty() && name.length() <= MAX_NAME && isPrintable(name);
    if (!valid) {
      throw new IllegalArgumentException(
          "The %s name '%s' is not usable: give it 1 to %d printable ASCII characters, without space, quote or backslash"
              .formatted(what, name, MAX_NAME));
    }
    return name;
  }

  /** Checks the numbers that all rules have. */
  static void requireNumbers(String name, long count, long max, Duration window) {
    requireName("rule", name);
    if (count < 1 || count > max) {
      throw new IllegalArgumentException(
          "The rule '%s' has count %d: give it 1 to %d".formatted(name, count, max));
    }
    requireWindow("The rule '" + name + "' has a window of", window);
  }

  /**
   * Checks a time over which something is counted.
   *
   * @param what what takes this time, for the message
   */
  static void requireWindow(String what, Duration window) {
    if (window.compareTo(MIN_WINDOW) < 0 || window.compareTo(MAX_WINDOW) > 0) {
      throw new IllegalArgumentException("%s %s: give it 1 ms to 366 days".formatted(what, window));
    }
    if (window.toNanosPart() % 1_000 != 0) {
      throw new IllegalArgumentException(
          "%s %s: give it whole microseconds".formatted(what, window));
    }
  }

  private static boolean isPrintable(String name) {
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c <= ' ' || c >= 127 || c == '"' || c == '\\') {
        return false;
      }
    }
    return true;
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
  sealed interface LoggedRule extends Rule permits SlidingWindowLog, ConcurrencyLimitRule {

    /** The most units that are kept, {@link #count()} or more. */
    long kept();
  }
}
