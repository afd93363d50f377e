// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.micronaut.exception.InvalidCallException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.Optional;

/**
 * The contents of a response to a request that does not reach its method. That of a request which a
 * limit denies is a {@link Denial}; a {@link Plain} one has no verdict.
 */
@Internal
public sealed interface Rejection permits Denial, Rejection.Plain {

  HttpRequest<?> request();

  /** The status of the response. */
  int status();

  /** The code by which programs recognize the reason. */
  String code();

  /** The message for people, in the language of the request. */
  String message();

  /** The standard reason phrase of the status. */
  String title();

  /**
   * That of a blocked caller, or of a request without a valid value that a limit needs.
   *
   * @param mistake the exception that represents it; empty for a blocked caller
   */
  record Plain(
      HttpRequest<?> request,
      int status,
      String code,
      String message,
      Optional<InvalidCallException> mistake)
      implements Rejection {

    @Override
    public String title() {
      return Denial.title(status);
    }
  }
}
