// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

/** Counts answers and their times. For one thread. */
final class AnswerTimes {

  private final Latencies latencies = new Latencies();
  private long denied;
  private long errors;

  void add(int status, long nanos) {
    latencies.record(nanos);
    if (status < 200 || status > 299) {
      denied++;
    }
  }

  void error() {
    errors++;
  }

  /**
   * @param unanswered requests that were given up
   */
  LoadResult over(double seconds, long unanswered) {
    return new LoadResult(
        latencies.count() / seconds,
        latencies.count(),
        denied,
        errors + unanswered,
        latencies.micros(0.5),
        latencies.micros(0.99));
  }
}
