// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.http.HttpRequest;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A refused request, and what its caller is to be told.
 *
 * @param request the request
 * @param cause the exception that stands for the refusal
 * @param status the status of the answer
 * @param code what programs tell it by
 * @param message what people are told, in the language of the request
 */
public record Denial(
    HttpRequest<?> request, LimitDeniedException cause, int status, String code, String message) {

  /** Why it was refused. */
  public Verdict verdict() {
    return cause.verdict();
  }

  /**
   * The names of the rules that refuse it; none if it is a duplicate, if nobody could decide, or if
   * only a ban refuses it.
   */
  public List<String> violated() {
    return verdict().violated().stream().map(refusing -> refusing.rule().name()).toList();
  }

  /**
   * What refuses it: of rules, the one to wait longest for; for a duplicate, the rule of the
   * duplicate guard. Empty if nobody could decide, or if only a ban refuses it.
   */
  public Optional<RuleVerdict> rule() {
    return DenialTimes.longest(verdict());
  }

  /**
   * Seconds as in {@code Retry-After}. Empty if no wait would help, and for a duplicate, which
   * nobody is to submit once more.
   */
  public OptionalLong retryAfter() {
    return DenialTimes.retryAfter(verdict());
  }

  /** Seconds that the caller is banned for, rounded up. Empty if he is not. */
  public OptionalLong banned() {
    return verdict().ban().stream().mapToLong(DenialTimes::secondsUp).findFirst();
  }

  /** The standard's words for the status. */
  public String title() {
    return ReasonPhrases.of(status);
  }
}
