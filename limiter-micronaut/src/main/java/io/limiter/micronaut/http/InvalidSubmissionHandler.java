// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.InvalidSubmissionException;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;

/** Responds to requests whose arguments cannot be compared. */
@Singleton
@Produces
public class InvalidSubmissionHandler extends BadRequestHandler<InvalidSubmissionException> {

  public InvalidSubmissionHandler(ErrorResponseProcessor<?> errors, DenialMessages messages) {
    super(errors, messages);
  }

  @Override
  protected String message(InvalidSubmissionException invalid) {
    return "{limiter.invalid-submission}";
  }
}
