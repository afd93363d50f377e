// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Ending;
import io.limiter.core.Receipt;
import io.limiter.core.RuleStack;
import io.limiter.core.Verdict;
import io.limiter.micronaut.message.BrokenPartLog;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The end of one admitted call. The store is told of it once, by whoever sees it first: the answer
 * of a route, the guard of any other call, or the end of the request. Until then the call's leases
 * are renewed.
 *
 * <p>The stages never fail: what could not be given back ends by itself.
 */
public final class CallEnd {

  /** That of a call which has taken nothing that its end decides about. */
  public static final CallEnd NOTHING = new CallEnd(Outcomes.NONE, Receipt.NOTHING, true);

  private static final BrokenPartLog LOG =
      new BrokenPartLog(LoggerFactory.getLogger(CallEnd.class));

  private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
  private static final int OK = 200;

  private enum Method {
    AHEAD,
    ENTERED,
    RETURNED,
    THREW
  }

  private final Outcomes outcomes;
  private final Receipt receipt;
  private final AtomicBoolean over;
  private volatile Method method = Method.AHEAD;
  private volatile Map<RuleStack, Integer> actual = Map.of();
  private volatile LeaseTimer.@Nullable Renewal renewal;

  private CallEnd(Outcomes outcomes, Receipt receipt, boolean over) {
    this.outcomes = outcomes;
    this.receipt = receipt;
    this.over = new AtomicBoolean(over);
  }

  static CallEnd of(Outcomes outcomes, Receipt receipt, LeaseTimer timer) {
    CallEnd end = new CallEnd(outcomes, receipt, false);
    receipt.lease().ifPresent(lease -> end.keep(timer, lease));
    return end;
  }

  private void keep(LeaseTimer timer, Duration lease) {
    renewal = timer.keep(this, lease);
  }

  CompletionStage<?> renew() {
    try {
      return receipt.renew();
    } catch (RuntimeException broken) { // a receipt may be the application's
      return CompletableFuture.failedFuture(broken);
    }
  }

  /** Whether the store has been told. */
  public boolean isOver() {
    return over.get();
  }

  /**
   * The method begins: from here on a call that nobody sees the end of may have done anything.
   *
   * @return whether it may; not if the call has been given up
   */
  public synchronized boolean entered() {
    if (isOver()) {
      return this == NOTHING;
    }
    method = Method.ENTERED;
    return true;
  }

  /** The method has given this result. */
  public void returned(@Nullable Object result) {
    if (!isOver()) {
      actual = outcomes.actual(result);
      method = Method.RETURNED;
    }
  }

  /** The method has thrown, or its result has failed. */
  public void threw() {
    if (!isOver()) {
      method = Method.THREW;
    }
  }

  /** The call is over, and no answer has its status: an exception counts as 500. */
  public CompletionStage<Void> settle() {
    return answered(method == Method.THREW ? Release.FAILURE : OK);
  }

  /** The request has this answer. */
  public CompletionStage<Void> answered(int status) {
    if (!over.compareAndSet(false, true)) {
      return DONE;
    }
    return settle(outcomes.ending(status, method == Method.THREW, actual));
  }

  /** The request is over: to be called when nobody else can see the call's end any more. */
  public void gone() {
    var unused = lost();
  }

  /**
   * Whoever waited for the result has gone. If the result is there, its answer goes on being made.
   *
   * @param answer whether an answer to a request is made of it
   */
  public void cancelled(boolean answer) {
    if (!answer || method == Method.AHEAD || method == Method.ENTERED) {
      var unused = lost();
    }
  }

  /**
   * The call was given up before it began: it frees its place, and what it was to submit may be
   * submitted again, whatever else may not.
   */
  public void abandoned(Verdict verdict) {
    CompletionStage<?> unused = lost();
    try {
      unused = verdict.receipt().release();
    } catch (RuntimeException broken) { // a receipt may be the application's
      LOG.report("A receipt has failed, so a submission stays accepted", broken);
    }
  }

  /** Nobody has seen how the call ended. */
  private CompletionStage<Void> lost() {
    boolean entered;
    synchronized (this) { // it has entered, or never will
      if (!over.compareAndSet(false, true)) {
        return DONE;
      }
      entered = method != Method.AHEAD;
    }
    return settle(Outcomes.unseen(entered));
  }

  private CompletionStage<Void> settle(Ending ending) {
    LeaseTimer.Renewal kept = renewal;
    if (kept != null) {
      kept.stop();
    }
    try {
      return receipt.settle(ending).handle((units, failure) -> null);
    } catch (RuntimeException broken) { // a receipt may be the application's
      LOG.report("A receipt has failed, so what a call has taken stays taken for its time", broken);
      return DONE;
    }
  }
}
