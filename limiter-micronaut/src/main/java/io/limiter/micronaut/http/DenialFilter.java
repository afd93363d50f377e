// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Verdict;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.web.router.RouteAttributes;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the header fields of a denial, once, whether a route was denied or a bean behind it, and
 * whatever made the response: an {@code @Error} method of the application need not know the fields,
 * and a filter may allow every response to be stored. It is the outermost filter.
 */
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
final class DenialFilter {

  private static final Logger LOG = LoggerFactory.getLogger(DenialFilter.class);

  /** An exception within so many others is not the reason of the answer. */
  private static final int MAX_CAUSES = 8;

  private final RateLimitFields fields;
  private final LogThrottle failures = new LogThrottle();

  DenialFilter(RateLimitFields fields) {
    this.fields = fields;
  }

  @ResponseFilter
  @Order(Ordered.HIGHEST_PRECEDENCE)
  void answer(HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<LimitDeniedException> denial = denial(response);
    Optional<LimitedCall> decided = LimitedCall.of(request);
    if (denial.isPresent()) {
      writeDenial(denial.get().verdict(), response);
    } else if (decided.isPresent() && decided.get().isDenied()) {
      // A filter may have replaced the response on which the exception was noted.
      writeDenial(decided.get().verdict(), response);
    }
    LimitedCall.answered(request); // of any route: it may have begun limited calls that continue
  }

  /** The denial that this response was made of. */
  static Optional<LimitDeniedException> denial(MutableHttpResponse<?> response) {
    Throwable cause = RouteAttributes.getException(response).orElse(null);
    for (int i = 0; cause != null && i < MAX_CAUSES; i++) {
      if (cause instanceof LimitDeniedException denied) {
        return Optional.of(denied);
      }
      cause = cause.getCause();
    }
    return Optional.empty();
  }

  /**
   * Writes the header fields of any response. They may be the application's, and are written last:
   * the method has run by then, or the call is denied, and neither may become a 500.
   */
  void writeIfAbsent(Verdict verdict, MutableHttpResponse<?> response) {
    try {
      fields.writeIfAbsent(verdict, response);
    } catch (RuntimeException broken) {
      report(broken);
    }
  }

  /** The same for the fields of a denial. */
  private void writeDenial(Verdict verdict, MutableHttpResponse<?> response) {
    try {
      fields.writeDenial(verdict, response);
    } catch (RuntimeException broken) {
      report(broken);
    }
  }

  private void report(RuntimeException broken) {
    failures.report(
        LOG,
        "%s has failed, so answers go out without its header fields"
            .formatted(fields.getClass().getName()),
        broken);
  }
}
