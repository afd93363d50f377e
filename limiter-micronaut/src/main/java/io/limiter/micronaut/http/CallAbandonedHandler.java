// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.exception.CallAbandonedException;
import io.micronaut.context.annotation.Secondary;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;

/**
 * Responds to calls that were given up while they waited for their turn. Mostly their client has
 * disconnected.
 */
@Singleton
@Secondary // a handler of the application takes precedence
@Produces
public class CallAbandonedHandler
    implements ExceptionHandler<CallAbandonedException, HttpResponse<?>> {

  @Override
  public HttpResponse<?> handle(
      @SuppressWarnings("rawtypes") HttpRequest request, CallAbandonedException abandoned) {
    return HttpResponse.status(HttpStatus.SERVICE_UNAVAILABLE);
  }
}
