// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The verdict on a request's own route, on its way from where it was decided to where it is needed:
 * the guard enters the method once on it, and the answer takes its header fields from it.
 */
@Internal
public final class RequestDecision {

  private static final String ATTRIBUTE = "io.limiter.ticket";
  private static final String ANSWERED = "io.limiter.answered";

  private final LimitPlan plan;
  private final Verdict verdict;
  private volatile AdmittedCall end;
  private final AtomicBoolean used;
  private volatile boolean refused;

  private RequestDecision(LimitPlan plan, Verdict verdict, AdmittedCall end, boolean used) {
    this.plan = plan;
    this.verdict = verdict;
    this.end = end;
    this.used = new AtomicBoolean(used);
  }

  /** The gate admits a request; the guard may enter the method once. */
  public static RequestDecision issue(
      HttpRequest<?> request, LimitPlan plan, Verdict verdict, AdmittedCall end) {
    RequestDecision ticket = new RequestDecision(plan, verdict, end, false);
    request.setAttribute(ATTRIBUTE, ticket);
    return ticket;
  }

  /**
   * The guard has decided itself; the answer is to know, and to see to the end of the call. A route
   * may call itself: then the answer sees to the first call, and the guard to the others.
   */
  public static RequestDecision record(
      HttpRequest<?> request, LimitPlan plan, Verdict verdict, AdmittedCall end) {
    Optional<RequestDecision> before = of(request);
    boolean again = before.isPresent() && !before.get().end.isOver();
    RequestDecision ticket =
        new RequestDecision(plan, verdict, again ? before.get().end : end, true);
    request.setAttribute(ATTRIBUTE, ticket);
    return ticket;
  }

  /** The route refuses a request; whoever answers it, the answer is to say so. */
  public static void refuse(HttpRequest<?> request, LimitPlan plan, Verdict verdict) {
    RequestDecision ticket = record(request, plan, verdict, AdmittedCall.NOTHING);
    ticket.refused = true;
  }

  /** The ticket of a request, if its route was decided. */
  public static Optional<RequestDecision> of(HttpRequest<?> request) {
    // Nothing to convert: nobody else writes under this name.
    return request.getAttribute(ATTRIBUTE).orElse(null) instanceof RequestDecision ticket
        ? Optional.of(ticket)
        : Optional.empty();
  }

  /**
   * The request has its answer: whatever is called from now on in its name, as for the messages of
   * a WebSocket, is no part of it.
   */
  public static void answered(HttpRequest<?> request) {
    request.setAttribute(ANSWERED, true);
  }

  /** Whether the request has its answer. */
  public static boolean isAnswered(HttpRequest<?> request) {
    return request.getAttribute(ANSWERED).isPresent();
  }

  /** The ticket for this plan, if there is one that was not used. It is used then. */
  public static Optional<RequestDecision> take(HttpRequest<?> request, LimitPlan plan) {
    Optional<RequestDecision> ticket = of(request);
    return ticket.isPresent()
            && !isAnswered(request)
            && ticket.get().plan.equals(plan)
            && ticket.get().used.compareAndSet(false, true)
        ? ticket
        : Optional.empty();
  }

  /** What was decided. */
  public Verdict verdict() {
    return verdict;
  }

  /** Whether the route was refused, and its method not entered. */
  public boolean refused() {
    return refused;
  }

  /** The end of the call that the answer sees to. */
  public AdmittedCall end() {
    return end;
  }

  /** The method goes on behind the answer: the guard sees to its end. */
  public void handedOn() {
    end = AdmittedCall.NOTHING;
  }

  /**
   * The rest of the request will not come: if its method has not begun, it never will. Its place is
   * free then, and what it was to submit may be submitted again.
   */
  public void cutOff() {
    if (used.compareAndSet(false, true)) {
      end.abandoned();
    }
  }
}
