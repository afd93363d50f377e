// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.value.PropertyResolver;
import java.time.Duration;
import java.util.function.Supplier;

/** Rejects values that a setting cannot have, with the remedy. */
@Internal
public final class Bounds {

  private Bounds() {}

  /**
   * @param remedy what the setting may be
   */
  public static void require(String property, Object value, boolean fits, String remedy) {
    if (!fits) {
      throw new ConfigurationException("%s = %s: set it to %s".formatted(property, value, remedy));
    }
  }

  public static void require(String property, long value, long least, long most) {
    require(property, value, least <= value && value <= most, least + " to " + most);
  }

  public static void require(String property, Duration value, Duration least, Duration most) {
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
  public static void require(
      String property, Duration value, Duration least, Duration most, String range) {
    boolean fits = value.compareTo(least) >= 0 && value.compareTo(most) <= 0;
    require(property, value.toMillis() + " ms", fits, range);
  }

  /**
   * Requires that a setting is absent, or of its type: Micronaut takes the default in place of a
   * value that it cannot convert.
   *
   * @param type a number, or {@link Duration}
   */
  public static void requireReadable(PropertyResolver settings, String property, Class<?> type) {
    settings
        .getProperty(property, String.class)
        .filter(text -> ConversionService.SHARED.convert(text, type).isEmpty())
        .ifPresent(
            text ->
                require(
                    property,
                    text,
                    false,
                    type == Duration.class ? "a time, such as 500ms" : "a number"));
  }

  /**
   * Creates what a setting configures. The name of the setting is added to the message of a
   * failure.
   */
  public static <T> T accepted(String setting, Supplier<T> made) {
    try {
      return made.get();
    } catch (IllegalArgumentException mistake) {
      throw new ConfigurationException(setting + ": " + mistake.getMessage(), mistake);
    }
  }
}
