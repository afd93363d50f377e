// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.message.DenialMessages;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers requests that lack what they are limited by, in the application's own error format. The
 * log says what they lack, at debug level; the caller is not told our names.
 *
 * @param <E> what is wrong with them
 */
public abstract class BadRequestHandler<E extends RuntimeException>
    implements ExceptionHandler<E, HttpResponse<?>> {

  private static final Logger LOG = LoggerFactory.getLogger(BadRequestHandler.class);

  private final ErrorResponseProcessor<?> errors;
  private final DenialMessages messages;

  protected BadRequestHandler(ErrorResponseProcessor<?> errors, DenialMessages messages) {
    this.errors = errors;
    this.messages = messages;
  }

  /** The key, in braces, of what the caller is told. */
  protected abstract String message(E mistake);

  @Override
  public HttpResponse<?> handle(@SuppressWarnings("rawtypes") HttpRequest request, E mistake) {
    LOG.debug("Refused: {}", mistake.getMessage());
    return answer(request, mistake);
  }

  private HttpResponse<?> answer(HttpRequest<?> request, E mistake) {
    String key = message(mistake);
    String told =
        messages.tell(
            key,
            key,
            request,
            () -> Map.of("path", request.getPath(), "method", request.getMethodName()));
    ErrorContext error = ErrorContext.builder(request).cause(mistake).errorMessage(told).build();
    return errors.processResponse(error, HttpResponse.status(HttpStatus.BAD_REQUEST));
  }
}
