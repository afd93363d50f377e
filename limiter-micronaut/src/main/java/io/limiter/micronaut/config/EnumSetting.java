// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** Reads a setting that is one of a few words, and reports a mistake with the remedy. */
@Internal
public final class EnumSetting {

  private EnumSetting() {}

  /**
   * @param property the property, for the message
   * @throws ConfigurationException naming the property, its value and the valid words
   */
  public static <E extends Enum<E>> E of(Class<E> words, String property, String value) {
    return of(words, property, value, "");
  }

  /**
   * @param more what the message says of other values
   */
  static <E extends Enum<E>> E of(Class<E> words, String property, String value, String more) {
    E[] all = words.getEnumConstants();
    return Arrays.stream(all)
        .filter(word -> word(word).equalsIgnoreCase(value.trim()))
        .findFirst()
        .orElseThrow(
            () ->
                new ConfigurationException(
                    "%s = %s: set it to one of %s%s"
                        .formatted(
                            property,
                            value,
                            Arrays.stream(all)
                                .map(EnumSetting::word)
                                .collect(Collectors.joining(", ")),
                            more)));
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
