// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The outcomes of the requests of a load that were due within some time. */
final class Tally {

  final AtomicLong sent = new AtomicLong();

  /** Lost connections, and responses without a request. */
  final AtomicLong strange = new AtomicLong();

  /** From the moment at which a request was due to its answer. */
  final Times times = new Times();

  /** These times, less what the threads on the way had to wait for a core. */
  final Times timesOnCores = new Times();

  private final Map<Integer, AtomicLong> byStatus = new ConcurrentHashMap<>();

  void answered(int status, long nanos, long waited) {
    byStatus.computeIfAbsent(status, first -> new AtomicLong()).incrementAndGet();
    timesOnCores.add(Math.max(0, nanos - waited));
    times.add(nanos);
  }

  boolean complete() {
    return times.count() == sent.get();
  }

  /** How many answers had each status. */
  Map<Integer, AtomicLong> byStatus() {
    return new TreeMap<>(byStatus);
  }

  @Override
  public String toString() {
    return byStatus() + ", " + times + " (on cores: " + timesOnCores + ")";
  }
}
