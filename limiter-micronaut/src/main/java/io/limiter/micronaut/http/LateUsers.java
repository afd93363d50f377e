// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.filter.ServerFilterPhase;
import jakarta.inject.Singleton;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns once if the user of a request is found only after the gate has decided by address: nothing
 * else would show it.
 */
@Singleton
final class LateUsers {

  private static final Logger LOG = LoggerFactory.getLogger(LateUsers.class);

  /** The method that a request without a user at the gate was for. */
  private static final String UNKNOWN = "io.limiter.user-unknown";

  private final AtomicBoolean late = new AtomicBoolean();

  /** The gate decides a request whose plan counts users. */
  void noteUser(HttpRequest<?> request, LimitPlan plan) {
    if (!late.getPlain() && request.getUserPrincipal().isEmpty()) {
      request.setAttribute(UNKNOWN, plan.method());
    }
  }

  /** Such a request has its answer: everything that could log in its user has run. */
  void answered(HttpRequest<?> request) {
    if (!late.getPlain()
        && request.getAttribute(UNKNOWN).orElse(null) instanceof String method
        && request.getUserPrincipal().isPresent()
        && late.compareAndSet(false, true)) {
      LOG.warn(
          "{} counts users (limitType = USER_ID), but a request had no principal when the gate decided, at order {}, so it was counted by its address. The principal was set later: let the filter that sets it run before the gate, with @Order({}). A @ServerFilter without an order runs last in Micronaut 4",
          method,
          GateFilter.ORDER,
          ServerFilterPhase.SECURITY.order());
    }
  }
}
