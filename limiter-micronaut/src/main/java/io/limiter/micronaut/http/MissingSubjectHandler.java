// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.exception.MissingSubjectException;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers requests that do not say whom to count. The log says which method asks; the caller is not
 * told our names.
 */
@Singleton
@Produces
public class MissingSubjectHandler
    implements ExceptionHandler<MissingSubjectException, HttpResponse<?>> {

  private static final Logger LOG = LoggerFactory.getLogger(MissingSubjectHandler.class);

  private final ErrorResponseProcessor<?> errors;

  public MissingSubjectHandler(ErrorResponseProcessor<?> errors) {
    this.errors = errors;
  }

  @Override
  public HttpResponse<?> handle(
      @SuppressWarnings("rawtypes") HttpRequest request, MissingSubjectException missing) {
    LOG.debug("Refused: {}", missing.getMessage());
    ErrorContext error =
        ErrorContext.builder(request)
            .cause(missing)
            .errorMessage("The request lacks a value that it is limited by")
            .build();
    return errors.processResponse(error, HttpResponse.status(HttpStatus.BAD_REQUEST));
  }
}
