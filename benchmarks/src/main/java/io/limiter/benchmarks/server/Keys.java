// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.micronaut.http.GateFilter;
import io.limiter.micronaut.subject.IdempotencyKey;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Gives requests their {@code Idempotency-Key}, since most generators send the same bytes each
 * time: another one to each of {@code /first}, the same one to each of {@code /replayed}.
 */
@ServerFilter({"/first", "/replayed"})
final class Keys {

  /** As long as the others. */
  private static final String SAME = Long.toString(Long.MAX_VALUE);

  /** Keys of an earlier process may still have their answers. */
  private final AtomicLong next = new AtomicLong(System.currentTimeMillis() * 1_000_000);

  @RequestFilter
  @Order(GateFilter.ORDER_BEFORE_SECURITY)
  void add(HttpRequest<?> request) {
    if (request.getHeaders() instanceof MutableHttpHeaders headers) {
      headers.set(
          IdempotencyKey.HEADER,
          request.getPath().equals("/first") ? Long.toString(next.incrementAndGet()) : SAME);
    }
  }
}
