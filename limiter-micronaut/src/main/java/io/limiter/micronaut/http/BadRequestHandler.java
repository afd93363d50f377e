// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.exception.InvalidCallException;
import io.micronaut.context.annotation.Secondary;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;
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

  private final Rejections rejections;

  public BadRequestHandler(Rejections rejections) {
    this.rejections = rejections;
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
    return rejections.badRequest(request, mistake, message(mistake));
  }
}
