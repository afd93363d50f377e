// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.RuleVerdict;
import io.micronaut.core.annotation.Internal;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The values of a denial that error bodies and messages can contain, by name. Times are whole
 * seconds, rounded up.
 */
@Internal
public enum DenialValue {
  CODE("code", Denial::code),
  MESSAGE("message", Denial::message),
  STATUS("status", denial -> (long) denial.status()),
  /** The standard reason phrase of the status. */
  TITLE("title", Denial::title),
  POLICY("policy", denial -> denial.verdict().policy().name()),
  /** The names of the rules that deny. */
  VIOLATED("violated", Denial::violated),
  /** The value of the header field; null if there is none. */
  RETRY_AFTER("retryAfter", denial -> boxed(denial.retryAfter())),
  /** The remaining time of the subject's ban; null if it is not banned. */
  BANNED("banned", denial -> boxed(denial.banned())),
  // The following values are those of the rule that denies, if there is one.
  LIMIT("limit", denial -> ofRule(denial, denying -> denying.rule().count())),
  REMAINING("remaining", denial -> ofRule(denial, RuleVerdict::remaining)),
  WINDOW("window", denial -> ofRule(denial, rule -> DenialTimes.secondsUp(rule.rule().window()))),
  RESET("reset", denial -> ofRule(denial, rule -> DenialTimes.secondsUp(rule.effectiveWindow()))),
  PATH("path", denial -> denial.request().getPath()),
  METHOD("method", denial -> denial.request().getMethodName()),
  /** By the clock of this service, to the millisecond. */
  TIMESTAMP("timestamp", denial -> Instant.now().truncatedTo(ChronoUnit.MILLIS).toString());

  private final String placeholder;

  @SuppressWarnings("ImmutableEnumChecker") // lambdas without state
  private final Function<Denial, @Nullable Object> value;

  DenialValue(String placeholder, Function<Denial, @Nullable Object> value) {
    this.placeholder = placeholder;
    this.value = value;
  }

  static Optional<DenialValue> named(String placeholder) {
    return Arrays.stream(values())
        .filter(value -> value.placeholder.equals(placeholder))
        .findFirst();
  }

  /** The values that messages can contain, as text. */
  public static Map<String, Object> arguments(Denial denial) {
    Map<String, Object> arguments = new HashMap<>();
    for (DenialValue value : values()) {
      if (DenialMessages.ARGUMENTS.contains(value.placeholder)) {
        arguments.put(value.placeholder, value.text(denial));
      }
    }
    return arguments;
  }

  String placeholder() {
    return placeholder;
  }

  /** A text, a whole number as a Long, or a list of texts; null if the denial has no such value. */
  @Nullable Object of(Denial denial) {
    return value.apply(denial);
  }

  /** The value as part of a text: list items separated by commas, an empty text for null. */
  public String text(Denial denial) {
    Object found = of(denial);
    if (found instanceof List<?> items) {
      return String.join(", ", items.stream().map(String::valueOf).toList());
    }
    return found == null ? "" : found.toString();
  }

  private static @Nullable Long boxed(OptionalLong seconds) {
    return seconds.isPresent() ? (Long) seconds.getAsLong() : null;
  }

  private static @Nullable Long ofRule(Denial denial, ToLongFunction<RuleVerdict> part) {
    return boxed(denial.rule().stream().mapToLong(part).findFirst());
  }
}
