// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import java.util.Optional;

/** Responds to denied requests in the gate, which without it throws the exception of each. */
interface DenialResponder {

  /** The response to this request; empty if the application is to receive the exception. */
  Optional<MutableHttpResponse<?>> respond(HttpRequest<?> request, LimitDeniedException denied);
}
