// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;

/**
 * Responds to denied requests, unless the application has an {@code @Error} method or a handler of
 * its own for them.
 */
@Singleton
@Produces
public class LimitDeniedHandler implements ExceptionHandler<LimitDeniedException, HttpResponse<?>> {

  private final DenialResponseFactory responses;

  public LimitDeniedHandler(DenialResponseFactory responses) {
    this.responses = responses;
  }

  @Override
  public HttpResponse<?> handle(
      @SuppressWarnings("rawtypes") HttpRequest request, LimitDeniedException denied) {
    return responses.respond(request, denied);
  }
}
