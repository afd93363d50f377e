// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.InvalidIdempotencyKeyException;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;

/** Responds to submissions without a usable {@code Idempotency-Key} where one is required. */
@Singleton
@Produces
public class InvalidIdempotencyKeyHandler
    extends BadRequestHandler<InvalidIdempotencyKeyException> {

  public InvalidIdempotencyKeyHandler(ErrorResponseProcessor<?> errors, DenialMessages messages) {
    super(errors, messages);
  }

  @Override
  protected String message(InvalidIdempotencyKeyException invalid) {
    return invalid.isMissing()
        ? "{limiter.idempotency-key-missing}"
        : "{limiter.idempotency-key-malformed}";
  }
}
