// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.cold;

import io.limiter.benchmarks.BenchRedis;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Sends PING to Redis continuously, on a thread of its own, until this is closed. */
final class Pings implements AutoCloseable {

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private final BenchRedis redis;
  private final Thread thread = new Thread(this::run, "pings");
  private volatile boolean over;
  private volatile long slowest;

  private Pings(BenchRedis redis) {
    this.redis = redis;
  }

  static Pings start(BenchRedis redis) {
    Pings pings = new Pings(redis);
    pings.ping();
    pings.slowest = 0; // the first one loads classes of this process
    pings.thread.setDaemon(true);
    pings.thread.start();
    return pings;
  }

  private void run() {
    while (!over) {
      ping();
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  private void ping() {
    long begin = System.nanoTime();
    var unused = redis.commands().ping();
    slowest = Math.max(slowest, System.nanoTime() - begin);
  }

  /** The longest time that a reply took, in milliseconds. Only after this is closed. */
  double slowestMillis() {
    return slowest / 1e6;
  }

  @Override
  public void close() {
    over = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while the last PING was awaited", e);
    }
  }
}
