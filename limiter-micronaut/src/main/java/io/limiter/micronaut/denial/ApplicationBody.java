// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;

/**
 * The application's own error format, as its ErrorResponseProcessor writes it, including HTML for
 * browsers. In Micronaut's default format the code is the {@code logref}, whose purpose is to name
 * the error.
 */
final class ApplicationBody implements DenialBody {

  private final ErrorResponseProcessor<?> application;

  ApplicationBody(ErrorResponseProcessor<?> application) {
    this.application = application;
  }

  @Override
  public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
    ErrorContext error =
        ErrorContext.builder(denial.request())
            .cause(denial.cause())
            .errorMessage(denial.message())
            .build();
    MutableHttpResponse<?> answer = process(error, denial.status(), response);
    if (answer.body() instanceof JsonError json && json.getLogref().isEmpty()) {
      json.logref(denial.code());
    }
    return answer;
  }

  /** Micronaut's own format fails for statuses that Micronaut does not know, such as 430. */
  private MutableHttpResponse<?> process(
      ErrorContext error, int status, MutableHttpResponse<?> response) {
    if (ReasonPhrases.known(status)) {
      return application.processResponse(error, response);
    }
    String reason = response.reason();
    return application
        .processResponse(error, response.status(HttpStatus.BAD_REQUEST.getCode(), reason))
        .status(status, reason);
  }
}
