// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.micronaut.http.GateFilter;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;

/**
 * Gives requests the next of the {@link Subjects} in a header field, since most generators send the
 * same bytes each time.
 */
@ServerFilter("/limited-arg/**")
final class CallerHeader {

  /** The header. */
  static final String NAME = "X-Caller";

  private final Subjects subjects;

  CallerHeader(Subjects subjects) {
    this.subjects = subjects;
  }

  @RequestFilter
  @Order(GateFilter.ORDER_BEFORE_SECURITY)
  void add(HttpRequest<?> request) {
    if (request.getHeaders() instanceof MutableHttpHeaders headers) {
      headers.set(NAME, subjects.next().orElseThrow());
    }
  }
}
