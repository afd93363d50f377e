// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.LimitRequest;
import io.limiter.core.Receipt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/** Gives back what one decision took: the rules' units once, and the duplicate guard's once. */
final class MemoryReceipt implements Receipt {

  private static final int RULES = 1;
  private static final int GUARD = 2;

  private final AtomicInteger given = new AtomicInteger();
  private final LimitRequest request;
  private final Reading[] readings;
  private final Stripes stripes;

  MemoryReceipt(LimitRequest request, Reading[] readings, Stripes stripes) {
    this.request = request;
    this.readings = readings;
    this.stripes = stripes;
  }

  @Override
  public CompletionStage<Long> refund() {
    return CompletableFuture.completedFuture(giveBack(RULES | GUARD));
  }

  @Override
  public CompletionStage<Long> release() {
    return CompletableFuture.completedFuture(giveBack(GUARD));
  }

  private long giveBack(int parts) {
    int left = parts & ~given.getAndUpdate(before -> before | parts);
    int from = (left & RULES) != 0 ? 0 : request.charges().size();
    int to = (left & GUARD) != 0 ? readings.length : request.charges().size();
    long mask = 0;
    for (int c = from; c < to; c++) {
      mask |= 1L << readings[c].stripe;
    }
    long units = 0;
    stripes.lock(mask);
    try {
      for (int c = from; c < to; c++) {
        units += readings[c].giveBack();
      }
    } finally {
      stripes.unlock(mask);
    }
    return units;
  }
}
