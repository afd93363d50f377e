// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.call.TurnQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** A call on its way into its method: while it is decided, and while it waits for its turn. */
final class ArrivingCall {

  private final CompletableFuture<Admission> admission;
  private @Nullable CompletableFuture<Void> turn;
  private boolean left;

  private ArrivingCall(CompletableFuture<Admission> admission) {
    this.admission = admission;
  }

  ArrivingCall(GuardedCall call, CompletableFuture<Admission> decided) {
    admission = call.mayWait() ? decided.thenCompose(admitted -> inTurn(call, admitted)) : decided;
  }

  /** The call may begin. */
  static ArrivingCall of(Admission admission) {
    return new ArrivingCall(CompletableFuture.completedFuture(admission));
  }

  /** Completes on the caller's executor, when the call may begin. */
  CompletableFuture<Admission> admission() {
    return admission;
  }

  /** Whoever waits for the call does no more: a call that has not begun yet is given up. */
  void leave() {
    CompletableFuture<Void> waiting;
    synchronized (this) {
      left = true;
      waiting = turn;
    }
    if (waiting != null) {
      TurnQueue.abandon(waiting);
    }
  }

  private CompletionStage<Admission> inTurn(GuardedCall call, Admission admitted) {
    if (admitted.verdict().delay().isZero()) {
      return CompletableFuture.completedFuture(admitted);
    }
    CompletableFuture<Void> waiting = call.turn(admitted);
    boolean gone;
    synchronized (this) {
      turn = waiting;
      gone = left;
    }
    if (gone) {
      TurnQueue.abandon(waiting);
    }
    return call.back(waiting).thenApply(now -> admitted);
  }
}
