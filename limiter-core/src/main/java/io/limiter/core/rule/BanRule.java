// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/**
 * Refuses a subject altogether for a while, after its calls have been refused by the rules of a
 * stack too often. What is refused during the ban does not prolong it.
 *
 * <p>A ban may grow: each is {@code growth} times as long as the one before, up to {@code longest}.
 * It begins at {@code time} again once a subject has kept out of bans for {@code longest}.
 *
 * @param violations the refused calls after which the ban begins, 1 to {@value #MAX_VIOLATIONS};
 *     the last of them is the first that is banned
 * @param within the time from the first of them in which they count, 1 ms to 366 days
 * @param time how long the first ban lasts, 1 ms to 366 days
 * @param growth by which each ban is longer than the one before, 1 to 100; 1 if all are alike
 * @param longest the longest ban, {@code time} to 366 days
 */
public record BanRule(
    int violations, Duration within, Duration time, int growth, Duration longest) {

  /** The most violations that may be waited for. */
  public static final int MAX_VIOLATIONS = 1_000_000;

  /** The most that each ban may be longer than the one before. */
  public static final int MAX_GROWTH = 100;

  public BanRule {
    if (violations < 1 || violations > MAX_VIOLATIONS) {
      throw new IllegalArgumentException(
          "A ban after %d violations: give it 1 to %d".formatted(violations, MAX_VIOLATIONS));
    }
    Rule.requireWindow("A ban counts violations within", within);
    Rule.requireWindow("A ban lasts", time);
    Rule.requireWindow("A ban lasts at most", longest);
    if (growth < 1 || growth > MAX_GROWTH) {
      throw new IllegalArgumentException(
          "A ban grows by %d: give it 1 to %d".formatted(growth, MAX_GROWTH));
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

  /** The same ban, each time so many times as long as before, up to the longest. */
  public BanRule growing(int factor, Duration most) {
    return new BanRule(violations, within, time, factor, most);
  }
}
