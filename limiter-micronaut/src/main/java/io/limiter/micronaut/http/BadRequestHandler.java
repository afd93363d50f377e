// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.denial.DirectBody;
import io.limiter.micronaut.denial.Rejection;
import io.limiter.micronaut.exception.InvalidCallException;
import io.micronaut.context.annotation.Secondary;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Responds to requests without a value that rate limiting needs, or with an invalid one, with a
 * body like that of a denial, which is the application's if it makes those. The log names the value
 * at debug level; the response does not.
 */
@Singleton
@Secondary // a handler of the application takes precedence
@Produces
public class BadRequestHandler implements ExceptionHandler<InvalidCallException, HttpResponse<?>> {

  private static final Logger LOG = LoggerFactory.getLogger(BadRequestHandler.class);

  /** Characters of a message in the log; those of the limiter are shorter. */
  private static final int MAX_MESSAGE = 1_000;

  private final ErrorResponseProcessor<?> errors;
  private final DenialMessages messages;
  private final DenialBody body;

  public BadRequestHandler(
      ErrorResponseProcessor<?> errors, DenialMessages messages, DenialBody body) {
    this.errors = errors;
    this.messages = messages;
    this.body = body;
  }

  /** The message of the response: a text, or a key in braces. */
  protected String message(InvalidCallException mistake) {
    return mistake.responseMessage();
  }

  @Override
  public HttpResponse<?> handle(
      @SuppressWarnings("rawtypes") HttpRequest request, InvalidCallException mistake) {
    if (LOG.isDebugEnabled()) {
      // The limiter's messages quote nothing that a caller sent. The application may throw these
      // exceptions too, with any message.
      LOG.debug(
          "Rejected: {}", LogThrottle.oneLine(String.valueOf(mistake.getMessage()), MAX_MESSAGE));
    }
    return answer(request, mistake);
  }

  private HttpResponse<?> answer(HttpRequest<?> request, InvalidCallException mistake) {
    String key = message(mistake);
    String text =
        messages.render(
            key,
            key,
            request,
            () -> Map.of("path", request.getPath(), "method", request.getMethodName()));
    MutableHttpResponse<?> response = HttpResponse.status(HttpStatus.BAD_REQUEST);
    if (body instanceof DirectBody own) {
      int status = HttpStatus.BAD_REQUEST.getCode();
      return own.reject(
          new Rejection.Plain(request, status, mistake.code(), text, Optional.of(mistake)),
          response);
    }
    ErrorContext error = ErrorContext.builder(request).cause(mistake).errorMessage(text).build();
    return errors.processResponse(error, response);
  }
}
