// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class AdmissionsTest {

  private static final long MILLI = 1_000_000;
  private static final Duration WINDOW = Duration.ofMillis(10);

  /** Windows of 10 ms, of which one ends after 5 ms. */
  private final Admissions admissions = new Admissions(0, 15 * MILLI, 1_000, Duration.ofMillis(60));

  private void admit(int calls, double atMillis) {
    for (int i = 0; i < calls; i++) {
      admissions.add((long) (atMillis * MILLI), (long) ((atMillis + 0.05) * MILLI));
    }
  }

  @Test
  void aWindowHasTheCountAndAnIntervalAcrossItsEndHasMore() {
    admit(3, 14.5);
    admit(3, 15.5);

    assertThat(admissions.ofWindows(3, WINDOW).over()).isZero();
    assertThat(admissions.ofWindows(2, WINDOW).over()).isEqualTo(1);
    assertThat(admissions.ofIntervals(4, WINDOW).over()).isEqualTo(2);
  }

  @Test
  void aBucketHasItsTokensAndThoseThatCameBack() {
    admit(10, 20.5);
    admit(6, 25.5);

    assertThat(admissions.ofBucket(10, WINDOW).over()).isZero();
    assertThat(admissions.ofBucket(7, WINDOW).over()).isEqualTo(5);
  }

  @Test
  void aCallThatSpansTheEndOfAWindowCountsForNobody() {
    admissions.add((long) (14.9 * MILLI), (long) (15.1 * MILLI));

    assertThat(admissions.ofWindows(0, WINDOW).over()).isZero();
    assertThat(admissions.ofIntervals(0, WINDOW).over()).isEqualTo(1);
  }

  @Test
  void theAdmittedPartIsTheMeanAfterTheFirstWindow() {
    admit(100, 1);
    for (int milli = 10; milli < 60; milli++) {
      admit(4, milli + 0.1);
    }

    assertThat(admissions.ofIntervals(50, WINDOW).admitted()).isBetween(0.79, 0.81);
  }
}
