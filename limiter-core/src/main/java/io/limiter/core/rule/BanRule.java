// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/**
 * Denies all calls of a subject for a while after the rules of a stack have denied too many of its
 * calls. Calls denied during the ban do not extend it.
 *
 * <p>A ban may grow: each ban is {@code growth} times as long as the one before, up to {@code
 * longest}. The next ban lasts {@code time} again if the subject has not been banned for {@code
 * longest}.
 *
 * @param violations the number of denied calls that starts a ban, 1 to {@value #MAX_VIOLATIONS};
 *     the last of them is the first banned call
 * @param within the time, from the first violation, within which violations count, 1 ms to 366 days
 * @param time the duration of the first ban, 1 ms to 366 days
 * @param growth the factor between one ban and the next, 1 to 100; 1 if all bans last equally long
 * @param longest the longest ban, {@code time} to 366 days
 */
public record BanRule(
    int violations, Duration within, Duration time, int growth, Duration longest) {

  /** The largest number of violations. */
  public static final int MAX_VIOLATIONS = 1_000_000;

  /** The largest growth factor. */
  public static final int MAX_GROWTH = 100;

  public BanRule {
    if (violations < 1 || violations > MAX_VIOLATIONS) {
      throw new IllegalArgumentException(
          "A ban after %s violations: use 1 to %s".formatted(violations, MAX_VIOLATIONS));
    }
    RuleStack.requireWindow("A ban counts violations within", within);
    RuleStack.requireWindow("A ban lasts", time);
    RuleStack.requireWindow("A ban lasts at most", longest);
    if (growth < 1 || growth > MAX_GROWTH) {
      throw new IllegalArgumentException(
          "A ban grows by %s: use 1 to %s".formatted(growth, MAX_GROWTH));
    }
    if (longest.compareTo(time) < 0) {
      throw new IllegalArgumentException(
          "The longest ban, %s, is shorter than the first, %s: make it as long or longer"
              .formatted(longest, time));
    }
  }

  /** A ban that always lasts equally long. */
  public static BanRule of(int violations, Duration within, Duration time) {
    return new BanRule(violations, within, time, 1, time);
  }

  /**
   * Returns this ban, each one {@code factor} times as long as the one before, up to the longest.
   */
  public BanRule growing(int factor, Duration most) {
    return new BanRule(violations, within, time, factor, most);
  }
}
