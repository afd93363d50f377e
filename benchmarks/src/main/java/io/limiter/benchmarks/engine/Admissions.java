// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.limiter.benchmarks.BenchRedis;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * When calls of one subject were admitted: of each step of time, how many of them began, and how
 * many were answered. Calls that began and were answered within an interval were decided within it;
 * a call that spans its border is left out, so that what is over a count is surely over.
 */
final class Admissions {

  private static final long STEP_NANOS = 100_000;
  private static final int CLOCK_READINGS = 50;

  private final long origin;
  private final long serverNanos;
  private final long errorNanos;
  private final int steps;
  private final List<long[][]> ofThreads = new CopyOnWriteArrayList<>();
  private final ThreadLocal<long[][]> ofThread = ThreadLocal.withInitial(this::begin);

  /**
   * @param origin when the recording begins, by System.nanoTime
   * @param serverNanos the server's time at the origin
   * @param errorNanos how wrong that may be
   * @param time how long the recording lasts
   */
  Admissions(long origin, long serverNanos, long errorNanos, Duration time) {
    this.origin = origin;
    this.serverNanos = serverNanos;
    this.errorNanos = errorNanos;
    this.steps = (int) (time.toNanos() / STEP_NANOS);
  }

  /** A recording that begins now, by the server's clock. */
  static Admissions by(BenchRedis redis, Duration time) {
    return by(redis, time, System.nanoTime());
  }

  /** A recording that begins then, by the server's clock. */
  static Admissions by(BenchRedis redis, Duration time, long origin) {
    long server = 0;
    long error = Long.MAX_VALUE;
    for (int i = 0; i < CLOCK_READINGS; i++) {
      long before = System.nanoTime();
      List<byte[]> found = redis.commands().time();
      long half = (System.nanoTime() - before) / 2;
      if (half < error) {
        error = half;
        long micros = number(found.get(0)) * 1_000_000 + number(found.get(1));
        server = micros * 1_000 - (before + half - origin);
      }
    }
    return new Admissions(origin, server, error, time);
  }

  private static long number(byte[] digits) {
    return Long.parseLong(new String(digits, US_ASCII));
  }

  private long[][] begin() {
    long[][] mine = new long[2][steps + 1];
    ofThreads.add(mine);
    return mine;
  }

  long origin() {
    return origin;
  }

  /** Writes what was recorded, so that {@link #read} adds it to a recording of the same time. */
  void write(DataOutputStream out) throws IOException {
    for (int which = 0; which < 2; which++) {
      for (int s = 0; s <= steps; s++) {
        long calls = 0;
        for (long[][] one : ofThreads) {
          calls += one[which][s];
        }
        out.writeLong(calls);
      }
    }
  }

  /** Adds what another process has recorded. */
  void read(DataInputStream in) throws IOException {
    long[][] others = begin();
    for (long[] calls : others) {
      for (int s = 0; s <= steps; s++) {
        calls[s] = in.readLong();
      }
    }
  }

  /** Notes an admitted call. */
  void add(long beganNanos, long answeredNanos) {
    long[][] mine = ofThread.get();
    mine[0][step(beganNanos)]++;
    mine[1][step(answeredNanos)]++;
  }

  private int step(long nanos) {
    return (int) Math.min(steps, (nanos - origin) / STEP_NANOS);
  }

  /** Calls that began, or that were answered, before each step. */
  private long[] before(int which) {
    long[] sums = new long[steps + 2];
    for (int s = 0; s <= steps; s++) {
      sums[s + 1] = sums[s];
      for (long[][] one : ofThreads) {
        sums[s + 1] += one[which][s];
      }
    }
    return sums;
  }

  /**
   * What was admitted, after the first whole window.
   *
   * @param admitted units within a window, on average, as a part of the count
   * @param over the most units over the count in an interval of the rule
   */
  record Found(double admitted, double over) {}

  /** Rules that count by windows of the server's clock. */
  Found ofWindows(long count, Duration window) {
    long[] began = before(0);
    long[] answered = before(1);
    long edge = firstEdge(window);
    long over = 0;
    for (long end = edge; end + errorNanos < steps * STEP_NANOS; end += window.toNanos()) {
      long begin = Math.max(0, end - window.toNanos() + errorNanos);
      int from = (int) ((begin + STEP_NANOS - 1) / STEP_NANOS);
      int to = (int) ((end - errorNanos) / STEP_NANOS);
      over = Math.max(over, answered[Math.max(from, to)] - began[from] - count);
    }
    return new Found(part(answered, count, window), over);
  }

  /** Rules under which every interval of a window has the count at most. */
  Found ofIntervals(long count, Duration window) {
    long[] began = before(0);
    long[] answered = before(1);
    int length = (int) (window.toNanos() / STEP_NANOS);
    long over = 0;
    for (int from = 0; from + length <= steps; from++) {
      over = Math.max(over, answered[from + length] - began[from] - count);
    }
    return new Found(part(answered, count, window), over);
  }

  /** Buckets of the count, which refill it in a window: every interval of any length. */
  Found ofBucket(long count, Duration window) {
    long[] began = before(0);
    long[] answered = before(1);
    double aStep = (double) count * STEP_NANOS / (double) window.toNanos();
    double least = 0;
    double over = 0;
    for (int s = 0; s <= steps; s++) {
      least = Math.min(least, (double) began[s] - aStep * s);
      over = Math.max(over, (double) answered[s] - aStep * s - least - (double) count);
    }
    return new Found(part(answered, count, window), Math.floor(over));
  }

  private long firstEdge(Duration window) {
    return window.toNanos() - Math.floorMod(serverNanos, window.toNanos());
  }

  /** The mean of all intervals of a window after the first, since bursts come at any time. */
  private double part(long[] answered, long count, Duration window) {
    int length = (int) (window.toNanos() / STEP_NANOS);
    double sum = 0;
    for (int from = length; from + length <= steps; from++) {
      sum += answered[from + length] - answered[from];
    }
    return sum / (double) count / (double) (steps - 2 * length + 1);
  }
}
