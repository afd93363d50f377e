// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionContext;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.convert.format.ReadableBytes;
import io.micronaut.core.convert.format.ReadableBytesTypeConverter;
import io.micronaut.core.value.PropertyResolver;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** Rejects values that a setting cannot have, with the remedy. */
@Internal
public final class Bounds {

  // What people write into a pattern of paths as they do into the template of a route.
  private static final Pattern QUERY = Pattern.compile("\\{[?&#][^}]*}?|\\?[^/]*=.*");
  private static final Pattern NAME = Pattern.compile("\\{[\\w-]+}|(?<=/):[^/]+");
  private static final Pattern VARIABLE = Pattern.compile("/*(?:\\{(?:[^{}]|\\{[^}]*})*}|[{}].*)");

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
   * What a setting has to be whose text is not of its type, and in whose place Micronaut would take
   * the default; empty if the text is. It goes by the text, since of a number in YAML Micronaut
   * takes the part that an int has.
   *
   * @param type a number, {@link Duration}, or {@link ReadableBytes}
   */
  public static Optional<String> remedy(String text, Class<?> type) {
    boolean isSize = type == ReadableBytes.class;
    boolean fits =
        isSize
            ? new ReadableBytesTypeConverter()
                .convert(text, Number.class, ConversionContext.DEFAULT)
                .isPresent()
            : ConversionService.SHARED.convert(text, type).isPresent();
    return fits
        ? Optional.empty()
        : Optional.of(
            isSize
                ? "a size, such as 100MB"
                : type == Duration.class ? "a time, such as 500ms" : "a number");
  }

  /** Requires that a setting is absent, or {@linkplain #remedy of its type}. */
  public static void requireReadable(PropertyResolver settings, String property, Class<?> type) {
    settings
        .getProperty(property, String.class)
        .ifPresent(
            text -> remedy(text, type).ifPresent(what -> require(property, text, false, what)));
  }

  /**
   * How to correct a pattern of paths that would match nothing; empty if it may match something.
   *
   * @param path an Ant pattern, such as {@code /api/**}
   */
  public static Optional<String> pathRemedy(String path) {
    if (!path.startsWith("/")) {
      return Optional.of("a path begins with a slash: write one such as /api/**");
    }
    String plain = QUERY.matcher(path).replaceAll("");
    String pattern = VARIABLE.matcher(NAME.matcher(plain).replaceAll("*")).replaceAll("/**");
    return pattern.equals(path)
        ? Optional.empty()
        : Optional.of(
            "a pattern has no %s: write %s"
                .formatted(pattern.equals(plain) ? "query" : "variables", pattern));
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
