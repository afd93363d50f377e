// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;

/**
 * The application's own error format: whatever its ErrorResponseProcessor makes of an error, HTML
 * for browsers included. In Micronaut's default format the code is the {@code logref}, which is
 * there to name the error.
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

  /** Micronaut's own format fails at a status that Micronaut has no name for, such as 430. */
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
