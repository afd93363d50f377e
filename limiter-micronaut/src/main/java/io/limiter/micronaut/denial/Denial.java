// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import java.time.Duration;
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
 * A denied request and the contents of its response.
 *
 * @param request the request
 * @param cause the exception that represents the denial
 * @param status the status of the response
 * @param code the code by which programs recognize the denial
 * @param message the message for people, in the language of the request
 */
public record Denial(
    HttpRequest<?> request, LimitDeniedException cause, int status, String code, String message)
    implements Rejection {

  /** The shortest wait that is reported, also if the next call is decided by the store again. */
  private static final long MIN_WAIT_SECONDS = 1;

  private static final Map<Integer, HttpStatus> STATUSES = statuses();

  /** The verdict that denied the request. */
  public Verdict verdict() {
    return cause.verdict();
  }

  /**
   * The names of the rules that deny it; empty if it is a duplicate, if no store could decide, or
   * if only a ban denies it.
   */
  public List<String> violated() {
    return verdict().violated().stream().map(denying -> denying.rule().name()).toList();
  }

  /**
   * The rule that denies it: if several do, the one with the longest wait; for a duplicate, the
   * rule of the duplicate guard. Empty if no store could decide, or if only a ban denies it.
   */
  public Optional<RuleVerdict> rule() {
    Verdict verdict = verdict();
    return switch (verdict.outcome()) {
      case LIMITED, BANNED -> verdict.denying();
      case DUPLICATE -> verdict.duplicate();
      case UNAVAILABLE, ALLOWED -> Optional.empty();
    };
  }

  /**
   * The seconds of {@code Retry-After}. Empty if the call can never succeed, and for a duplicate,
   * which clients must not submit again.
   */
  public OptionalLong retryAfterSeconds() {
    return retryAfterSeconds(verdict());
  }

  /** Seconds for which the subject is still banned, rounded up. Empty if it is not banned. */
  public OptionalLong bannedSeconds() {
    Optional<Duration> ban = verdict().ban();
    return ban.isPresent() ? OptionalLong.of(secondsUp(ban.get())) : OptionalLong.empty();
  }

  /**
   * The value of {@code Retry-After}: whole seconds rounded up, at least 1. While the store is away
   * it is the time until the next attempt to use it. It is empty if the call can never succeed or
   * the wait is unknown, as for a concurrency limit, and for a duplicate: a client that obeys it
   * would repeat a submission that was accepted. For a banned subject it is the remaining time of
   * the ban, or longer.
   */
  @Internal
  public static OptionalLong retryAfterSeconds(Verdict verdict) {
    Optional<Duration> wait = verdict.retryAfter();
    return switch (verdict.outcome()) {
      case LIMITED, BANNED ->
          wait.isPresent() ? OptionalLong.of(waitSeconds(wait.get())) : OptionalLong.empty();
      case UNAVAILABLE -> OptionalLong.of(waitSeconds(wait.orElse(Duration.ZERO)));
      case DUPLICATE, ALLOWED -> OptionalLong.empty();
    };
  }

  private static long waitSeconds(Duration wait) {
    return Math.max(MIN_WAIT_SECONDS, secondsUp(wait));
  }

  private static long secondsUp(Duration duration) {
    return duration.toSeconds() + (duration.toNanosPart() > 0 ? 1 : 0);
  }

  @Override
  public String title() {
    return title(status);
  }

  static String title(int status) {
    return named(status).map(HttpStatus::getReason).orElse("Denied");
  }

  /** A status that Micronaut names; empty for others, such as 498. */
  @Internal
  public static Optional<HttpStatus> named(int status) {
    return Optional.ofNullable(STATUSES.get(status));
  }

  private static Map<Integer, HttpStatus> statuses() {
    Map<Integer, HttpStatus> statuses = new HashMap<>();
    for (HttpStatus status : HttpStatus.values()) {
      statuses.putIfAbsent(status.getCode(), status);
    }
    return statuses;
  }

  /**
   * The values that error bodies and messages can contain, by name. Times are whole seconds,
   * rounded up. A response without a verdict has null for what a verdict states.
   */
  @Internal
  public enum Value implements JsonTemplate.Part {
    CODE("code", Rejection::code),
    MESSAGE("message", Rejection::message),
    STATUS("status", rejection -> (long) rejection.status()),
    /** The standard reason phrase of the status. */
    TITLE("title", Rejection::title),
    POLICY("policy", ofDenial(denial -> denial.verdict().policy().name())),
    /** The names of the rules that deny. */
    VIOLATED("violated", ofDenial(Denial::violated)),
    /** The value of the header field; null if there is none. */
    RETRY_AFTER("retryAfter", ofDenial(denial -> boxed(denial.retryAfterSeconds()))),
    /** The remaining time of the subject's ban; null if it is not banned. */
    BANNED("banned", ofDenial(denial -> boxed(denial.bannedSeconds()))),
    // The following values are those of the rule that denies, if there is one.
    LIMIT("limit", ofRule(denying -> denying.rule().count())),
    REMAINING("remaining", ofRule(RuleVerdict::remaining)),
    WINDOW("window", ofRule(rule -> secondsUp(rule.rule().window()))),
    RESET("reset", ofRule(rule -> secondsUp(rule.effectiveWindow()))),
    PATH("path", rejection -> rejection.request().getPath()),
    METHOD("method", rejection -> rejection.request().getMethodName()),
    /** By the clock of this service, to the millisecond. */
    TIMESTAMP("timestamp", rejection -> Instant.now().truncatedTo(ChronoUnit.MILLIS).toString());

    private final String placeholder;

    @SuppressWarnings("ImmutableEnumChecker") // lambdas without state
    private final Function<Rejection, @Nullable Object> value;

    Value(String placeholder, Function<Rejection, @Nullable Object> value) {
      this.placeholder = placeholder;
      this.value = value;
    }

    static Optional<Value> named(String placeholder) {
      return Arrays.stream(values())
          .filter(value -> value.placeholder.equals(placeholder))
          .findFirst();
    }

    /** The values that messages can contain, as text. */
    public static Map<String, Object> arguments(Rejection rejection) {
      Map<String, Object> arguments = new HashMap<>();
      for (Value value : values()) {
        if (DenialMessages.ARGUMENTS.contains(value.placeholder)) {
          arguments.put(value.placeholder, value.text(rejection));
        }
      }
      return arguments;
    }

    String placeholder() {
      return placeholder;
    }

    @Override
    public @Nullable Object of(Rejection rejection) {
      return value.apply(rejection);
    }

    /** The value as part of a text: list items separated by commas, an empty text for null. */
    public String text(Rejection rejection) {
      Object found = of(rejection);
      if (found instanceof List<?> items) {
        return String.join(", ", items.stream().map(String::valueOf).toList());
      }
      return found == null ? "" : found.toString();
    }

    private static @Nullable Long boxed(OptionalLong seconds) {
      return seconds.isPresent() ? (Long) seconds.getAsLong() : null;
    }

    private static Function<Rejection, @Nullable Object> ofDenial(
        Function<Denial, @Nullable Object> value) {
      return rejection -> rejection instanceof Denial denial ? value.apply(denial) : null;
    }

    private static Function<Rejection, @Nullable Object> ofRule(ToLongFunction<RuleVerdict> part) {
      return ofDenial(denial -> boxed(denial.rule().stream().mapToLong(part).findFirst()));
    }
  }
}
