// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.ConditionalFilter;
import io.micronaut.http.filter.ServerFilterPhase;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Decides requests whose plan needs nothing but the request: behind security, on the request's own
 * event loop, without waiting, before arguments are bound or the body is read.
 */
@Internal
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
public final class GateFilter implements ConditionalFilter {

  /** Behind {@link ServerFilterPhase#SECURITY}, which knows the user. */
  public static final int ORDER = 39_250;

  private final GateDecision decisions;

  GateFilter(GateDecision decisions) {
    this.decisions = decisions;
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    return decisions.plan(request, false).isPresent();
  }

  @RequestFilter
  @Order(ORDER)
  CompletionStage<Optional<MutableHttpResponse<?>>> decide(HttpRequest<?> request) {
    return decisions.decide(request, false);
  }
}
