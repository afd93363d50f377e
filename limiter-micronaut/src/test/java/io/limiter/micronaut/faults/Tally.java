// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.limiter.core.testing.Pauses;
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

  /** These times, without the pauses of this machine. */
  final Times timesOnCores = new Times();

  private final Map<Integer, AtomicLong> byStatus = new ConcurrentHashMap<>();

  void answered(int status, long due, long answered) {
    byStatus.computeIfAbsent(status, first -> new AtomicLong()).incrementAndGet();
    timesOnCores.add(Pauses.without(due, answered).toNanos());
    times.add(answered - due);
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
