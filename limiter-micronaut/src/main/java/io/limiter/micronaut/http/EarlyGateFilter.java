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
 * The same as {@link GateFilter} for plans that say so: before security, so that a caller who
 * guesses passwords is counted, and refused without one being looked at.
 */
@Internal
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
public final class EarlyGateFilter implements ConditionalFilter {

  /** Before {@link ServerFilterPhase#SECURITY}, behind the session. */
  public static final int ORDER = 38_750;

  private final GateDecision decisions;

  EarlyGateFilter(GateDecision decisions) {
    this.decisions = decisions;
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    return decisions.plan(request, true).isPresent();
  }

  @RequestFilter
  @Order(ORDER)
  CompletionStage<Optional<MutableHttpResponse<?>>> decide(HttpRequest<?> request) {
    return decisions.decide(request, true);
  }
}
