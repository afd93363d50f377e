// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.InvalidCostException;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;

/** Responds to requests without a valid cost. */
@Singleton
@Produces
public class InvalidCostHandler extends BadRequestHandler<InvalidCostException> {

  public InvalidCostHandler(ErrorResponseProcessor<?> errors, DenialMessages messages) {
    super(errors, messages);
  }

  @Override
  protected String message(InvalidCostException invalid) {
    return "{limiter.invalid-cost}";
  }
}
