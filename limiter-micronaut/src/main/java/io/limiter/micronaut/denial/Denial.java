// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

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
    HttpRequest<?> request, LimitDeniedException cause, int status, String code, String message) {

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
    return DenialTimes.longest(verdict());
  }

  /**
   * The seconds of {@code Retry-After}. Empty if no wait would help, and for a duplicate, which
   * clients must not submit again.
   */
  public OptionalLong retryAfter() {
    return DenialTimes.retryAfter(verdict());
  }

  /** Seconds for which the subject is still banned, rounded up. Empty if it is not banned. */
  public OptionalLong banned() {
    return verdict().ban().stream().mapToLong(DenialTimes::secondsUp).findFirst();
  }

  /** The standard reason phrase of the status. */
  public String title() {
    return ReasonPhrases.of(status);
  }

  /** The standard reason phrases of statuses. */
  static final class ReasonPhrases {

    private static final Map<Integer, HttpStatus> KNOWN = new HashMap<>();

    static {
      for (HttpStatus status : HttpStatus.values()) {
        KNOWN.putIfAbsent(status.getCode(), status);
      }
    }

    private ReasonPhrases() {}

    /** Whether Micronaut knows the status. */
    static boolean known(int status) {
      return KNOWN.containsKey(status);
    }

    static String of(int status) {
      HttpStatus known = KNOWN.get(status);
      return known == null ? "Denied" : known.getReason();
    }
  }
}
