// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.plan.Turns;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** A call on its way into its method: while it is decided, and while it waits for its turn. */
final class Arrival {

  private final CompletableFuture<Admission> admission;
  private @Nullable CompletableFuture<Void> turn;
  private boolean left;

  private Arrival(CompletableFuture<Admission> admission) {
    this.admission = admission;
  }

  Arrival(GuardedCall call, CompletableFuture<Admission> decided) {
    admission = call.mayWait() ? decided.thenCompose(admitted -> inTurn(call, admitted)) : decided;
  }

  /** The call may begin. */
  static Arrival of(Admission admission) {
    return new Arrival(CompletableFuture.completedFuture(admission));
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
      Turns.abandon(waiting);
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
      Turns.abandon(waiting);
    }
    return call.back(waiting).thenApply(now -> admitted);
  }
}
