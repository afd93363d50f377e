// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.limiter.core.faults.OverAdmissionChecker;
import io.limiter.core.faults.OverAdmissionChecker.Admission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/** Every admitted call of a load, judged from time to time, so that an hour needs no memory. */
final class AdmissionLog {

  private final OverAdmissionChecker checker;
  private final long windowNanos;
  private final Map<String, Long> sent = new ConcurrentHashMap<>();
  private final Queue<Admission> added = new ConcurrentLinkedQueue<>();
  private final AtomicLong admitted = new AtomicLong();
  private List<Admission> kept = List.of();

  /**
   * @param count the most calls of one key within any window
   */
  AdmissionLog(long count, Duration window) {
    checker = new OverAdmissionChecker(count, window);
    windowNanos = window.toNanos();
  }

  /**
   * @param call names it among all calls
   */
  void sent(String call) {
    sent.put(call, System.nanoTime());
  }

  /**
   * @param key whose calls are counted together
   */
  void answered(String call, String key, boolean isAdmitted) {
    long answered = System.nanoTime();
    Long asked = sent.remove(call);
    if (asked != null && isAdmitted) {
      admitted.incrementAndGet();
      added.add(new Admission(key, asked, answered, call));
    }
  }

  long admitted() {
    return admitted.get();
  }

  /** What is wrong with the calls since it was last asked, and with those just before. */
  List<String> violations() {
    // Twice the window, since a call may be noted somewhat later than it was answered.
    long horizon = System.nanoTime() - 2 * windowNanos;
    List<Admission> judged = new ArrayList<>(kept);
    for (Admission next = added.poll(); next != null; next = added.poll()) {
      judged.add(next);
    }
    kept = judged.stream().filter(admission -> admission.sent() - horizon >= 0).toList();
    return checker.violations(judged);
  }
}
