// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metrics;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Outcome;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The words of verdicts as values of tags and attributes, such as {@code deny_cache}. */
final class TagValues {

  private static final Map<Enum<?>, String> WORDS =
      Stream.<Enum<?>[]>of(Outcome.values(), DecidedBy.values(), FailureReason.values())
          .flatMap(Stream::of)
          .collect(
              Collectors.toMap(Function.identity(), word -> word.name().toLowerCase(Locale.ROOT)));

  private TagValues() {}

  static String of(Enum<?> word) {
    return WORDS.getOrDefault(word, "other");
  }
}
