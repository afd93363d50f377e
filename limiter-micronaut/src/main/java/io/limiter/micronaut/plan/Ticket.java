// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Verdict;
import io.micronaut.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The verdict on a request's own route, on its way from where it was decided to where it is needed:
 * the guard enters the method once on it, and the answer takes its header fields from it.
 */
public final class Ticket {

  private static final String ATTRIBUTE = "io.limiter.ticket";

  private final LimitPlan plan;
  private final Verdict verdict;
  private final AtomicBoolean used;
  private volatile boolean settled;

  private Ticket(LimitPlan plan, Verdict verdict, boolean used) {
    this.plan = plan;
    this.verdict = verdict;
    this.used = new AtomicBoolean(used);
  }

  /** The gate admits a request; the guard may enter the method once. */
  public static void issue(HttpRequest<?> request, LimitPlan plan, Verdict verdict) {
    request.setAttribute(ATTRIBUTE, new Ticket(plan, verdict, false));
  }

  /** The guard has decided itself; the answer is to know. */
  public static Ticket record(HttpRequest<?> request, LimitPlan plan, Verdict verdict) {
    Ticket ticket = new Ticket(plan, verdict, true);
    request.setAttribute(ATTRIBUTE, ticket);
    return ticket;
  }

  /** The route refuses a request; whoever answers it, the answer is to say so. */
  public static void refuse(HttpRequest<?> request, LimitPlan plan, Verdict verdict) {
    record(request, plan, verdict).settled();
  }

  /** The ticket of a request, if its route was decided. */
  public static Optional<Ticket> of(HttpRequest<?> request) {
    return request.getAttribute(ATTRIBUTE, Ticket.class);
  }

  /** The ticket for this plan, if there is one that was not used. It is used then. */
  public static Optional<Ticket> take(HttpRequest<?> request, LimitPlan plan) {
    return of(request)
        .filter(ticket -> ticket.plan.equals(plan) && ticket.used.compareAndSet(false, true));
  }

  /** What was decided. */
  public Verdict verdict() {
    return verdict;
  }

  /**
   * From here on the guard sees to failures itself, or there are none: only a status of 500 and
   * above still counts as one.
   */
  public void settled() {
    settled = true;
  }

  /**
   * Releases the duplicate guard if this status, or what came before it, is a failure by its plan.
   * Never fails.
   */
  public CompletionStage<Void> settle(int status) {
    return plan.releaseAfterAnswer(verdict, status, settled);
  }
}
