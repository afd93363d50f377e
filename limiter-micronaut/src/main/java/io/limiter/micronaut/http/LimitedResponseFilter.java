// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.call.AdmittedCall;
import io.limiter.micronaut.call.RequestDecision;
import io.limiter.micronaut.plan.RoutePlans;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.filter.ConditionalFilter;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.reactivestreams.Publisher;

/**
 * Sees limited requests out: tells the caller where he stands, and holds the answer back until the
 * duplicate guard of a failed submission is released, and what the call held is given back: whoever
 * has the answer can submit again, and finds his place free. Where nothing is given back, as with
 * most calls, nothing is waited for; else for the store's deadline at most.
 */
@Internal
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
public final class LimitedResponseFilter implements ConditionalFilter {

  /**
   * Outside of both gates, and of security between them: only filters up to one that fails see the
   * answer.
   */
  public static final int ORDER = EarlyGateFilter.ORDER - 10;

  private final RoutePlans routes;
  private final SafeHeaderFields fields;
  private final CallerThreads threads;
  private final UserWarnings users;
  private final Optional<MessageBodyHandlerRegistry> writers;

  LimitedResponseFilter(
      RoutePlans routes,
      RateLimitFields fields,
      CallerThreads threads,
      UserWarnings users,
      Optional<MessageBodyHandlerRegistry> writers) {
    this.routes = routes;
    this.fields = new SafeHeaderFields(fields);
    this.threads = threads;
    this.users = users;
    this.writers = writers;
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    return routes.of(request).isPresent();
  }

  @ResponseFilter
  @Order(ORDER)
  CompletionStage<MutableHttpResponse<?>> answer(
      HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<RequestDecision> ticket = RequestDecision.of(request);
    if (ticket.isEmpty()) {
      return CompletableFuture.completedFuture(response);
    }
    users.answered(request);
    if (DenialFilter.refusal(response).isEmpty()) {
      fields.writeIfAbsent(ticket.get().verdict(), response);
    }
    AdmittedCall end = ticket.get().end();
    if (!end.isOver() && response.body() instanceof Publisher<?> stream) {
      StreamEnd streamed = new StreamEnd(end, response.code(), threads, request);
      return CompletableFuture.completedFuture(response.body(streamed.of(stream)));
    }
    boolean written = !end.byStatus() || EncodedBody.encode(request, response, writers);
    int status = written ? response.code() : HttpStatus.INTERNAL_SERVER_ERROR.getCode();
    return back(end.answered(status), request).thenApply(done -> response);
  }

  private CompletionStage<Void> back(CompletionStage<Void> settled, HttpRequest<?> request) {
    return threads.back(settled, Optional.of(request));
  }
}
