// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The limit of a process that is late, with a clock that the test drives. */
class AdaptiveLimitTest {

  private static final int INITIAL = 100;
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

  private final AtomicLong now = new AtomicLong();
  private final AdaptiveLimit limit = new AdaptiveLimit(4, INITIAL, 1_000, now::get);

  /** As many calls end in this time. */
  private void calls(int count, long millis, long latency, long late, boolean full) {
    calls(count, millis, latency, late, full, full ? limit.now() : 10);
  }

  private void calls(int count, long millis, long latency, long late, boolean full, int inFlight) {
    for (int i = 0; i < count; i++) {
      int epoch = limit.begun(now.get());
      if (full) {
        limit.full();
      }
      limit.late(late * MILLI);
      now.addAndGet(millis * MILLI / count);
      limit.ended(epoch, latency * MILLI, inFlight, now.get());
    }
  }

  private void usual() {
    for (int i = 0; i < 10; i++) {
      calls(500, 500, 20, 0, false);
    }
    assertThat(limit.now()).isEqualTo(INITIAL);
  }

  /** With more in flight than there are callers, nothing shows what they wait for. */
  @Test
  void aStepUpThatFindsNoFurtherCallsIsTakenBack() {
    usual();
    int before = limit.now();
    int after = before;
    for (int i = 0; i < 100 && after <= before; i++) {
      before = after;
      calls(500, 500, 100, 80, true);
      after = limit.now();
    }
    assertThat(after).as("a step up").isGreaterThan(before);

    calls(2_000, 2_000, 100, 80, false);

    assertThat(limit.now()).isEqualTo(before);
  }

  /** Though calls are a little faster than before, so that nothing shows a queue. */
  @Test
  void aLimitThatFellWithASlowDependencyGrowsOnceItIsFast() {
    usual();
    for (int i = 0; i < 3; i++) { // each place serves five calls a second
      calls(5 * limit.now(), 1_000, 200, 0, true);
    }
    int slow = limit.now();

    for (int i = 0; i < 8; i++) {
      calls(25 * limit.now(), 500, 18, 0, true);
    }

    assertThat(limit.now()).isGreaterThan(3 * slow);
  }

  /** As in the first seconds of a process that compiles its code: each step down is right. */
  @Test
  void stepsFollowEachOtherWhileTheThroughputStays() {
    usual();

    for (int i = 0; i < 10; i++) {
      calls(500, 500, 100, 80, true);
    }

    assertThat(limit.now()).isLessThan(INITIAL / 10);
  }

  @Test
  void throughputsThatVaryByChanceDoNotRaiseTheLimit() {
    usual();
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 5_000; i++) {
      calls(500, (long) (600 * Math.exp(0.7 * random.nextGaussian())), 100, 80, true);
      assertThat(limit.now()).isLessThan(10 * INITIAL);
    }
  }

  /** A dependency that became slow fills the instance up to the number of its callers only. */
  @Test
  void aHighLimitThatNoCallReachesFallsWhileCallsAreSlow() {
    for (int i = 0; i < 100; i++) {
      calls(500, 500, 20, 0, false, 100);
    }
    assertThat(limit.now()).isGreaterThan(4 * INITIAL);

    for (int i = 0; i < 5; i++) {
      calls(500, 500, 200, 0, false, INITIAL + 20);
    }

    assertThat(limit.now()).isEqualTo(INITIAL);
  }
}
