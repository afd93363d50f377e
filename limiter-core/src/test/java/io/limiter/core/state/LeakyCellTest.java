// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Mode;
import io.limiter.core.rule.LeakyBucketRule;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A queue of calls: when places are free, and when departures are near enough. */
class LeakyCellTest {

  private static final long HALF = 500_000;

  private static final LeakyBucketRule TWO =
      LeakyBucketRule.of(2, SECOND, 10, SECOND.multipliedBy(10));

  @Test
  void aCallThatIsAThirdOfAMicrosecondEarlyWaits() {
    LeakyQueue queue = new LeakyQueue(LeakyBucketRule.of(3, SECOND, 10, SECOND.multipliedBy(10)));
    queue.take(1);
    queue.now = 333_333;
    assertThat(queue.read(1, 0).delayMicros()).isEqualTo(1);
    assertThat(queue.left()).isEqualTo(10);
    queue.now = 333_334;
    assertThat(queue.read(1, 0).delayMicros()).isZero();
    assertThat(queue.left()).isEqualTo(11);
    assertThat(queue.read(1, 0).resetAfterMicros(false)).isZero();
  }

  @Test
  void aGapMayBeExactlyAsFarAwayAsACallMayWait() {
    LeakyQueue queue = new LeakyQueue(TWO.withFair(false));
    queue.takeEach(5);
    assertThat(queue.leave(2)).isTrue();
    for (long wait : new long[] {1_000_000, 999_999}) {
      queue.rule =
          new LeakyBucketRule("hasty", 2, SECOND, 10, Duration.ofNanos(1_000 * wait), false);
      assertThat(queue.left()).isEqualTo(wait / 1_000_000);
      assertThat(queue.read(1, 0).retryAfterMicros(false))
          .isEqualTo(wait == 999_999 ? 1 : 4 * HALF);
    }
  }

  /** Two calls of cost one may leave room for one of cost two, which comes after all others. */
  @Test
  void inAFullQueueTheGapIsWorthNothingBeforeAPlaceIsFree() {
    Duration wait = Duration.ofMillis(6_000);
    LeakyQueue queue = new LeakyQueue(new LeakyBucketRule("full", 2, SECOND, 10, wait, false));
    queue.takeEach(11);
    assertThat(queue.leave(4)).isTrue();
    assertThat(queue.leave(3)).isTrue();
    assertThat(queue.take(2)).isEqualTo(11 * HALF);
    assertThat(queue.left()).isZero();
    assertThat(queue.read(1, 0).retryAfterMicros(false)).isEqualTo(HALF);
    assertThat(queue.read(2, 0).retryAfterMicros(false)).isEqualTo(2 * HALF);
    queue.now = HALF;
    assertThat(queue.take(1)).isEqualTo(2 * HALF);
    assertThat(queue.left()).isZero();
  }

  @Test
  void whereTheQueueWasShortenedItsPlacesAreFreeOnceAsManyHaveDeparted() {
    LeakyQueue queue = new LeakyQueue(TWO);
    queue.takeEach(11);
    queue.rule = TWO.withQueue(3);
    assertThat(queue.left()).isEqualTo(-7);
    assertThat(queue.read(1, 0).retryAfterMicros(false)).isEqualTo(8 * HALF);
    assertThat(queue.read(4, 0).retryAfterMicros(false)).isEqualTo(11 * HALF);
    assertThat(queue.cell.read(queue.rule, 0, 1, Mode.RECORD).retryAfterMicros(true))
        .isEqualTo(8 * HALF);
  }

  /**
   * Units of 10,000 / 7 microseconds, under rules that differ in everything that a queue outlasts.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void aDeniedCallIsAdmittedExactlyAtItsRetryAfter(long seed) {
    Random random = new Random(seed);
    LeakyQueue queue = new LeakyQueue(bucket(random));
    int denials = 0;
    for (int i = 0; i < 2_000; i++) {
      queue.now += random.nextInt(3) == 0 ? random.nextInt(4_000) : 0;
      int cost = random.nextInt(3) == 0 ? 1 + random.nextInt(3) : 1;
      if (queue.read(cost, 0).admits()) {
        queue.take(cost);
      }
      if (random.nextInt(3) == 0 && queue.calls() > 0) {
        queue.leave(Math.max(0, queue.calls() - 1 - random.nextInt(12)));
      }
      LeakyBucketRule own = queue.rule;
      queue.rule = random.nextBoolean() ? own : bucket(random);
      denials += assertWaitIsExact(queue, random) ? 1 : 0;
      queue.rule = random.nextInt(20) == 0 ? queue.rule : own;
    }
    assertThat(denials).isGreaterThan(100);
  }

  private static LeakyBucketRule bucket(Random random) {
    Duration wait = Duration.ofMillis(1 + random.nextInt(20));
    int queue = 1 + random.nextInt(12);
    return new LeakyBucketRule(
        "seven", 7, Duration.ofMillis(10), queue, wait, random.nextBoolean());
  }

  /** Returns whether the call was denied. */
  private static boolean assertWaitIsExact(LeakyQueue queue, Random random) {
    int cost = 1 + random.nextInt(random.nextBoolean() ? 1 : (int) queue.rule.capacity());
    CellReadout readout = queue.read(cost, 0);
    boolean denied = readout.remainingBefore() < cost;
    long wanted = denied ? cost : readout.remainingBefore() + 1;
    long wait = readout.retryAfterMicros(false);
    if (readout.remainingBefore() < queue.rule.capacity()) {
      assertThat(queue.read(cost, wait).remainingBefore()).isGreaterThanOrEqualTo(wanted);
      assertThat(queue.read(cost, wait - 1).remainingBefore()).isLessThan(wanted);
      assertThat(queue.read(cost, random.nextLong(wait)).remainingBefore()).isLessThan(wanted);
    }
    return denied;
  }
}
