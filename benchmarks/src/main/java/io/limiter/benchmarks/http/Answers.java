// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

/** Counts answers and how long they took. For one thread. */
final class Answers {

  private final Latencies latencies = new Latencies();
  private long refused;
  private long errors;

  void add(int status, long nanos) {
    latencies.record(nanos);
    if (status < 200 || status > 299) {
      refused++;
    }
  }

  void error() {
    errors++;
  }

  /**
   * @param unanswered requests that nobody waits for any longer
   */
  Load over(double seconds, long unanswered) {
    return new Load(
        latencies.count() / seconds,
        latencies.count(),
        refused,
        errors + unanswered,
        latencies.micros(0.5),
        latencies.micros(0.99));
  }
}
