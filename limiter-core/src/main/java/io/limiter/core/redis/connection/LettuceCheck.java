// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Rejects Lettuce versions with which calls would count twice: before 6.7.0, Lettuce resends
 * unanswered commands after a reconnect, whatever its options are.
 */
final class LettuceCheck {

  private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(\\d+)\\..*");
  private static final int FIRST = 607;

  private LettuceCheck() {}

  /**
   * @param version the version that Lettuce reports. An unreadable version is accepted, and so is
   *     null: a service packed into one jar has lost the manifest that contains it
   * @throws IllegalStateException with the version and the remedy
   */
  static void requireAtMostOnce(@Nullable String version) {
    if (version == null) {
      return;
    }
    Matcher matcher = VERSION.matcher(version);
    if (matcher.matches()
        && 100 * Integer.parseInt(matcher.group(1)) + Integer.parseInt(matcher.group(2)) < FIRST) {
      throw new IllegalStateException(
          "Lettuce %s sends commands again after a reconnect, so calls would count twice: use 6.7.0 or later"
              .formatted(version));
    }
  }
}
