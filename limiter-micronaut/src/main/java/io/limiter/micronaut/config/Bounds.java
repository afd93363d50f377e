// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;

/** Rejects numbers and times out of range, with the remedy. */
final class Bounds {

  private Bounds() {}

  static void require(String property, long value, long least, long most) {
    if (value < least || value > most) {
      throw new ConfigurationException(
          "%s = %s: give it %s to %s".formatted(property, value, least, most));
    }
  }

  static void require(String property, Duration value, Duration least, Duration most) {
    require(
        property,
        value,
        least,
        most,
        "%s ms to %s ms".formatted(least.toMillis(), most.toMillis()));
  }

  /**
   * @param range the range as the message writes it
   */
  static void require(
      String property, Duration value, Duration least, Duration most, String range) {
    if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
      throw new ConfigurationException(
          "%s = %s ms: give it %s".formatted(property, value.toMillis(), range));
    }
  }
}
