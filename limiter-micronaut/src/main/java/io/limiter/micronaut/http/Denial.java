// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Verdict;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.http.HttpRequest;

/**
 * A refused request, and what its caller is to be told.
 *
 * @param request the request
 * @param cause the exception that stands for the refusal
 * @param status the status of the answer
 * @param code what programs tell it by
 * @param message what people are told
 */
public record Denial(
    HttpRequest<?> request, LimitDeniedException cause, int status, String code, String message) {

  /** Why it was refused. */
  public Verdict verdict() {
    return cause.verdict();
  }
}
