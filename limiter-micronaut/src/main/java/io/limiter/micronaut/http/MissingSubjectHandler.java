// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.MissingSubjectException;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;

/** Responds to requests without a subject to count. */
@Singleton
@Produces
public class MissingSubjectHandler extends BadRequestHandler<MissingSubjectException> {

  public MissingSubjectHandler(ErrorResponseProcessor<?> errors, DenialMessages messages) {
    super(errors, messages);
  }

  @Override
  protected String message(MissingSubjectException missing) {
    return "{limiter.missing-subject}";
  }
}
