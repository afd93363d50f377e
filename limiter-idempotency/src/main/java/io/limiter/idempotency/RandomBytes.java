// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Random bytes for event loops, which must not wait for the system's source: they are drawn
 * elsewhere, for many calls at once, and are used within a second or never. So the processes that
 * are started from one snapshot of a process do not draw the same ones.
 */
final class RandomBytes {

  private static final int POOLED = 256;
  private static final int MAX_WAITING = 10_000;
  private static final long MAX_AGE_MILLIS = 1_000;

  private final int length;
  private final Consumer<byte[]> source;
  private final Executor executor;
  private final LongSupplier wallMillis;

  // Guarded by this object.
  private final ArrayDeque<CompletableFuture<byte[]>> waiting = new ArrayDeque<>();
  private byte[] pool = {};
  private int used;
  private long drawnAtMillis;
  private boolean isDrawing;

  /**
   * @param length of each piece
   * @param executor its threads may block
   */
  RandomBytes(int length, Executor executor) {
    this(length, new SecureRandom()::nextBytes, executor, System::currentTimeMillis);
  }

  /**
   * @param source fills an array; may block
   * @param wallMillis a clock that goes on while a process is a snapshot
   */
  RandomBytes(int length, Consumer<byte[]> source, Executor executor, LongSupplier wallMillis) {
    this.length = length;
    this.source = source;
    this.executor = executor;
    this.wallMillis = wallMillis;
  }

  /** The next piece, at once or from a thread of the executor. */
  CompletionStage<byte[]> next() {
    CompletableFuture<byte[]> next = new CompletableFuture<>();
    synchronized (this) {
      long age = wallMillis.getAsLong() - drawnAtMillis;
      boolean isFresh = age >= 0 && age <= MAX_AGE_MILLIS;
      if (isFresh && used < pool.length) {
        next.complete(take());
        if (pool.length - used > pool.length / 2) {
          return next;
        }
      } else if (waiting.size() < MAX_WAITING) {
        waiting.add(next);
      } else {
        next.completeExceptionally(
            new StoreException(
                FailureReason.OVERLOADED, "Too many submissions wait for a token", null));
      }
      if (isDrawing) {
        return next;
      }
      isDrawing = true;
    }
    try {
      executor.execute(this::draw);
    } catch (RuntimeException ended) {
      fail(ended);
    }
    return next;
  }

  private byte[] take() {
    used += length;
    return Arrays.copyOfRange(pool, used - length, used);
  }

  private void draw() {
    try {
      byte[] drawn;
      do {
        drawn = new byte[POOLED * length];
        source.accept(drawn);
      } while (serve(drawn));
    } catch (RuntimeException broken) {
      fail(broken);
    }
  }

  /** Returns whether more are needed. */
  private boolean serve(byte[] drawn) {
    ArrayDeque<Runnable> served = new ArrayDeque<>();
    boolean more;
    synchronized (this) {
      pool = drawn;
      used = 0;
      drawnAtMillis = wallMillis.getAsLong();
      while (used < pool.length && !waiting.isEmpty()) {
        CompletableFuture<byte[]> first = waiting.remove();
        byte[] piece = take();
        served.add(() -> first.complete(piece));
      }
      more = !waiting.isEmpty();
      isDrawing = more;
    }
    served.forEach(Runnable::run);
    return more;
  }

  private void fail(RuntimeException why) {
    ArrayDeque<CompletableFuture<byte[]>> failed;
    synchronized (this) {
      failed = new ArrayDeque<>(waiting);
      waiting.clear();
      isDrawing = false;
    }
    failed.forEach(some -> some.completeExceptionally(why));
  }
}
