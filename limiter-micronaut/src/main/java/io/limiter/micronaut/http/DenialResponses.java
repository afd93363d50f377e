// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;

/** Makes the answer to a refused request: status, header fields, body. */
@Singleton
public class DenialResponses {

  private final DenialConfiguration configuration;
  private final RateLimitFields fields;
  private final DenialBody body;

  public DenialResponses(
      DenialConfiguration configuration, RateLimitFields fields, DenialBody body) {
    this.configuration = configuration;
    this.fields = fields;
    this.body = body;
  }

  /** The answer to this request. */
  public MutableHttpResponse<?> respond(HttpRequest<?> request, LimitDeniedException cause) {
    Denial denial = denial(request, cause);
    MutableHttpResponse<?> response =
        HttpResponseFactory.INSTANCE.status(denial.status(), ProblemBody.title(denial.status()));
    fields.writeRefusal(denial.verdict(), response);
    return body.write(denial, response);
  }

  private Denial denial(HttpRequest<?> request, LimitDeniedException cause) {
    boolean duplicate = cause.verdict().outcome() == Outcome.DUPLICATE;
    return new Denial(
        request,
        cause,
        duplicate ? configuration.getDuplicateStatus() : configuration.getStatus(),
        duplicate ? configuration.getDuplicateCode() : configuration.getCode(),
        cause
            .text()
            .message()
            .orElseGet(
                () ->
                    duplicate ? configuration.getDuplicateMessage() : configuration.getMessage()));
  }
}
