// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.call.RequestDecision;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.web.router.RouteAttributes;
import java.util.Optional;

/**
 * Sees refused requests out, whoever has refused them, a route or a bean behind it, and whoever has
 * answered: an {@code @Error} method of the application knows nothing of our fields, and a filter
 * may say that everything can be stored. It is outermost, so that nobody speaks after it.
 */
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
final class DenialFilter {

  /** An exception within so many others is not the reason of the answer. */
  private static final int MAX_CAUSES = 8;

  private final SafeHeaderFields fields;

  DenialFilter(RateLimitFields fields) {
    this.fields = new SafeHeaderFields(fields);
  }

  @ResponseFilter
  @Order(Ordered.HIGHEST_PRECEDENCE)
  void answer(HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<LimitDeniedException> refusal = refusal(response);
    Optional<RequestDecision> ticket = RequestDecision.of(request);
    if (refusal.isPresent()) {
      fields.writeRefusal(refusal.get().verdict(), response);
    } else if (ticket.isPresent() && ticket.get().refused()) {
      // A filter may have put another answer in place of the one that the exception was noted on.
      fields.writeRefusal(ticket.get().verdict(), response);
    }
    RequestDecision.answered(request); // of any route: it may have begun limited calls that go on
  }

  /** The refusal that this answer was made of. */
  static Optional<LimitDeniedException> refusal(MutableHttpResponse<?> response) {
    Throwable cause = RouteAttributes.getException(response).orElse(null);
    for (int i = 0; cause != null && i < MAX_CAUSES; i++) {
      if (cause instanceof LimitDeniedException denied) {
        return Optional.of(denied);
      }
      cause = cause.getCause();
    }
    return Optional.empty();
  }
}
