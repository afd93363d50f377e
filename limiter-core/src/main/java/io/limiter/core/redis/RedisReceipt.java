// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.Receipt;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * What one decision took, known by the returnings of its units. Units that bear one returning are
 * interchangeable; that only this decision's are given back, and once, is kept here.
 */
final class RedisReceipt implements Receipt {

  private final RedisStore store;
  private final LimitRequest request;
  private final Taken reply;
  private final AtomicBoolean chargesReturned = new AtomicBoolean();
  private final AtomicBoolean duplicateReturned = new AtomicBoolean();

  RedisReceipt(RedisStore store, LimitRequest request, Taken reply) {
    this.store = store;
    this.request = request;
    this.reply = reply;
  }

  /** Some units of one key: those that a decision put there. */
  static final class Units {
    final Key key;
    final StackPart part;
    final byte[] returning;
    final int cost;

    Units(Charge charge, StackPart part, byte[] returning) {
      this.key = charge.key();
      this.part = part;
      this.returning = returning;
      this.cost = charge.cost();
    }
  }

  @Override
  public CompletionStage<Long> refund() {
    List<Units> units = new ArrayList<>();
    if (chargesReturned.compareAndSet(false, true)) {
      for (int i = 0; i < request.charges().size(); i++) {
        reply.addTo(units, request.charge(i), i);
      }
    }
    addDuplicate(units);
    return give(units);
  }

  @Override
  public CompletionStage<Long> release() {
    List<Units> units = new ArrayList<>(1);
    addDuplicate(units);
    return give(units);
  }

  private void addDuplicate(List<Units> units) {
    if (request.duplicate().isPresent() && duplicateReturned.compareAndSet(false, true)) {
      int guard = request.charges().size();
      reply.addTo(units, request.charge(guard), guard);
    }
  }

  private CompletionStage<Long> give(List<Units> units) {
    return units.isEmpty() ? CompletableFuture.completedFuture(0L) : store.refund(units);
  }
}
