// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Completion;
import io.limiter.core.Reservation;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.log.BrokenPartLog;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.GuardRelease;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The end of one admitted call. It settles the units of the call and releases its duplicate guard,
 * once, when the first of these sees the end: the answer of a route, the guard of any other call,
 * or the end of the request. While the method runs the leases of the call are renewed.
 *
 * <p>A call that has its answer while its method still runs, because a filter did not wait for it,
 * keeps its place until the method ends. Its leases are not renewed any more.
 *
 * <p>The duplicate guard of a call whose method was never entered is always released: nothing was
 * submitted.
 *
 * <p>The stages never fail: what could not be given back ends by itself.
 */
@Internal
public final class AdmittedCall {

  /** That of a call which has taken nothing that its end decides about. */
  public static final AdmittedCall NOTHING =
      new AdmittedCall(CompletionPlan.NONE, new GuardRelease.Never(), Reservation.NOTHING, 0, true);

  private static final BrokenPartLog LOG =
      new BrokenPartLog(LoggerFactory.getLogger(AdmittedCall.class));

  private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
  private static final int OK = 200;

  private enum Method {
    AHEAD,
    ENTERED,
    RETURNED,
    THREW
  }

  /** No answer was seen. */
  private static final int NONE = 0;

  /** The request ended with an answer that was not seen. */
  private static final int UNSEEN = -1;

  private final CompletionPlan outcomes;
  private final GuardRelease release;
  private final Reservation reservation;
  private final long turn; // the System.nanoTime() until which the limiter lets the call wait

  // All that changes is guarded by this object.
  private boolean over;
  private boolean released;
  private Method method = Method.AHEAD;
  private int answer = NONE; // that the method did not wait for
  private Map<RuleStack, Integer> actual = Map.of();

  private volatile PermitRenewal.@Nullable Renewal renewal;

  private AdmittedCall(
      CompletionPlan outcomes,
      GuardRelease release,
      Reservation reservation,
      long turn,
      boolean over) {
    this.outcomes = outcomes;
    this.release = release;
    this.reservation = reservation;
    this.turn = turn;
    this.over = over;
  }

  /**
   * @param verdict that admits the call
   */
  static AdmittedCall of(
      CompletionPlan outcomes, GuardRelease release, Verdict verdict, PermitRenewal timer) {
    AdmittedCall end =
        new AdmittedCall(
            outcomes,
            release,
            verdict.reservation(),
            System.nanoTime() + verdict.delay().toNanos(),
            false);
    if (outcomes.decide()) {
      verdict.reservation().lease().ifPresent(lease -> end.keep(timer, lease));
    }
    return end;
  }

  private void keep(PermitRenewal timer, Duration lease) {
    renewal = timer.keep(this, lease);
  }

  /** Whether it holds leases that may have to be renewed: not if it is over or has its answer. */
  synchronized boolean holds() {
    return !over && answer == NONE;
  }

  /** Whether they are to be renewed now: while the method runs, or the limiter lets it wait. */
  synchronized boolean renews() {
    return method != Method.AHEAD || System.nanoTime() - turn < 0;
  }

  CompletionStage<?> renew() {
    try {
      return reservation.renew();
    } catch (RuntimeException broken) { // a reservation may be the application's
      return CompletableFuture.failedFuture(broken);
    }
  }

  /** Whether the status of its answer makes a difference that is still to be made. */
  public boolean byStatus() {
    return !isOver() && (outcomes.byStatus() || !(release instanceof GuardRelease.Never));
  }

  /** Whether its units are settled. */
  public synchronized boolean isOver() {
    return over;
  }

  /**
   * The method begins: from here on a call whose end is not seen may have done anything.
   *
   * @return whether it may; not if the call has been given up
   */
  public boolean entered() {
    synchronized (this) {
      if (over) {
        return this == NOTHING;
      }
      method = Method.ENTERED;
    }
    PermitRenewal.Renewal kept = renewal;
    if (kept != null) {
      kept.entered(this);
    }
    return true;
  }

  /** The method has given this result. If an answer did not wait for it, the call is over now. */
  public CompletionStage<Void> returned(@Nullable Object result) {
    Map<RuleStack, Integer> costs = isOver() ? Map.of() : outcomes.actual(result);
    synchronized (this) {
      actual = costs;
    }
    return left(Method.RETURNED);
  }

  /** The same for a method that has thrown, or whose result has failed. */
  public CompletionStage<Void> threw() {
    return left(Method.THREW);
  }

  private CompletionStage<Void> left(Method how) {
    int before;
    synchronized (this) {
      if (over) {
        return DONE;
      }
      method = how;
      before = answer;
    }
    return before == NONE ? DONE : before == UNSEEN ? lost() : answered(before);
  }

  /** The call is over, and no answer has its status: an exception counts as 500. */
  public CompletionStage<Void> settle() {
    boolean threw;
    synchronized (this) {
      threw = method == Method.THREW;
    }
    return answered(threw ? GuardRelease.FAILURE : OK);
  }

  /** The client gets an answer of this status. */
  public CompletionStage<Void> answered(int status) {
    if (this == NOTHING) {
      return DONE;
    }
    boolean releases;
    Completion ending = null;
    synchronized (this) {
      boolean threw = method == Method.THREW;
      releases = releases(method == Method.AHEAD || release.after(status, threw));
      if (!over) {
        if (method == Method.ENTERED) {
          answer = status;
        } else {
          over = true;
          ending = outcomes.ending(status, threw, actual);
        }
      }
    }
    return end(ending, releases);
  }

  /** The request is over: to be called when its answer was written, or cannot be any more. */
  public void gone() {
    synchronized (this) {
      if (method == Method.ENTERED && !over) {
        answer = answer == NONE ? UNSEEN : answer;
        return;
      }
    }
    var unused = lost();
  }

  /**
   * The result is not waited for any more. If it is there, its answer goes on being made.
   *
   * @param answer whether an answer to a request is made of it
   */
  public void cancelled(boolean answer) {
    synchronized (this) {
      if (answer && (method == Method.RETURNED || method == Method.THREW)) {
        return;
      }
    }
    var unused = lost();
  }

  /** The call was given up before it began. */
  public void abandoned() {
    var unused = lost();
  }

  /** It is not known how the call ended. */
  private CompletionStage<Void> lost() {
    boolean entered;
    boolean releases;
    synchronized (this) { // it has entered, or never will
      if (over) {
        return DONE;
      }
      over = true;
      entered = method != Method.AHEAD;
      releases = releases(!entered);
    }
    return end(CompletionPlan.unseen(entered), releases);
  }

  /** Whether to release the submission now: at the first reason to. */
  private boolean releases(boolean reason) {
    boolean first = reason && !released;
    released |= reason;
    return first;
  }

  /**
   * @param ending of the units; null if they are settled, or its method still runs
   */
  private CompletionStage<Void> end(@Nullable Completion ending, boolean releases) {
    PermitRenewal.Renewal kept = renewal;
    if (kept != null) {
      kept.stop();
    }
    CompletionStage<Void> guard =
        releases ? attempt(reservation::release, "so a submission stays accepted") : DONE;
    return ending == null || !outcomes.decide()
        ? guard
        : attempt(
                () -> reservation.settle(ending),
                "so what a call has taken stays taken for its time")
            .thenCombine(guard, (units, submission) -> null);
  }

  private static CompletionStage<Void> attempt(
      Supplier<CompletionStage<Long>> action, String loss) {
    try {
      return action.get().handle((units, failure) -> null);
    } catch (RuntimeException broken) { // a reservation may be the application's
      LOG.report("A reservation has failed, " + loss, broken);
      return DONE;
    }
  }
}
