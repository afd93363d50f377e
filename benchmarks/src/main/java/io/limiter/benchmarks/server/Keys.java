// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.micronaut.http.GateFilter;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Gives requests their {@code Idempotency-Key} and its owner, since most generators send the same
 * bytes each time: another key to each of {@code /first}, of a thousand owners in turn, and the
 * same to each of {@code /replayed}.
 */
@ServerFilter({"/first", "/replayed"})
final class Keys {

  /** The header with the owner. */
  static final String OWNER = "X-Client";

  /** What is kept for one owner is bounded in bytes. */
  private static final int OWNERS = 1_000;

  /** As long as the others. */
  private static final String SAME = Long.toString(Long.MAX_VALUE);

  /** Keys of an earlier process may still have their answers. */
  private final AtomicLong next = new AtomicLong(System.currentTimeMillis() * 1_000_000);

  @RequestFilter
  @Order(GateFilter.ORDER_BEFORE_SECURITY)
  void add(HttpRequest<?> request) {
    if (request.getHeaders() instanceof MutableHttpHeaders headers) {
      boolean isFirst = request.getPath().equals("/first");
      long number = isFirst ? next.incrementAndGet() : Long.MAX_VALUE;
      headers.set("Idempotency-Key", isFirst ? Long.toString(number) : SAME);
      headers.set(OWNER, Long.toString(number % OWNERS));
    }
  }
}
