// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.plan.RoutePlans;
import io.limiter.micronaut.plan.Ticket;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.ConditionalFilter;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Sees limited requests out: tells the caller where he stands, and holds the answer of a failed
 * submission back until its duplicate guard is released, so that whoever has the answer can submit
 * again.
 */
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
public final class LimitAnswer implements ConditionalFilter {

  /** Outside of the gate: only filters up to one that fails see the answer. */
  public static final int ORDER = LimitGate.ORDER - 10;

  private final RoutePlans routes;
  private final HarmlessFields fields;
  private final CallerThreads threads;

  LimitAnswer(RoutePlans routes, RateLimitFields fields, CallerThreads threads) {
    this.routes = routes;
    this.fields = new HarmlessFields(fields);
    this.threads = threads;
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    return routes.of(request).isPresent();
  }

  @ResponseFilter
  @Order(ORDER)
  CompletionStage<MutableHttpResponse<?>> answer(
      HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<Ticket> ticket = Ticket.of(request);
    if (ticket.isEmpty()) {
      return CompletableFuture.completedFuture(response);
    }
    if (RefusalAnswer.refusal(response).isEmpty()) {
      fields.writeIfAbsent(ticket.get().verdict(), response);
    }
    return threads
        .back(ticket.get().settle(response.code()), Optional.of(request))
        .thenApply(settled -> response);
  }
}
