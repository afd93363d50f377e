// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.time.temporal.ChronoUnit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Mode;
import io.limiter.core.rule.SlidingWindowCounterRule;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Waits of a sliding counter are exact, even if its numbers are too large for exact doubles. */
class CounterCellTest {

  private static final long DAY = 86_400_000_000L;

  private static SlidingWindowCounterRule rule(long count, long window) {
    return SlidingWindowCounterRule.of(count, Duration.of(window, MICROS));
  }

  private static long left(SlidingWindowCounterRule rule, CellState cell, long now) {
    return cell.read(rule, now, 1, Mode.PEEK).remainingBefore();
  }

  /** No call is admitted before the wait is over, and every call is then. */
  private static void assertExact(
      SlidingWindowCounterRule rule, CellState cell, long now, int cost) {
    CellReadout readout = cell.read(rule, now, cost, Mode.ACQUIRE);
    long wanted = readout.remainingBefore() < cost ? cost : readout.remainingBefore() + 1;
    long wait = readout.retryAfterMicros(false);
    assertThat(wait).as("%s at %d for %d", cell, now, cost).isPositive();
    assertThat(left(rule, cell, now + wait))
        .as("%s at %d for %d, after %d", cell, now, cost, wait)
        .isGreaterThanOrEqualTo(wanted);
    assertThat(left(rule, cell, now + wait - 1))
        .as("%s at %d for %d, before %d", cell, now, cost, wait)
        .isLessThan(wanted);
  }

  @Test
  void waitsAreExactWhateverTheNumbers() {
    Random random = new Random(3);
    for (int i = 0; i < 5_000; i++) {
      long window = (long) (1_000 * Math.pow(3e10, random.nextDouble()));
      long count = (long) Math.pow(1e9, random.nextDouble());
      long current = random.nextLong(count + 1);
      long previous = random.nextInt(3) == 0 ? 0 : random.nextLong(count + 1);
      if (current + previous > 0) {
        CellState cell = CellState.of(window, current, previous);
        long now = window + (random.nextInt(3) == 0 ? 0 : random.nextLong(window));
        int cost = 1 + random.nextInt((int) count);
        assertExact(rule(count, window), cell, now, random.nextBoolean() ? 1 : cost);
      }
    }
  }

  /** In doubles, so many units × a day / a day are one more. */
  @Test
  void aCallThatIsDeniedInTheNextWindowTooWaitsLonger() {
    long units = 906_876_021;
    CellState cell = CellState.of(0, units, 1);
    assertThat(left(rule(units, DAY), cell, DAY)).isEqualTo(-1);
    assertExact(rule(units + 1, DAY), cell, 1_000, 1);
    assertExact(rule(units + 2, DAY), cell, 1_000, 1);
    assertExact(rule(units + 9, DAY), cell, 1_000, 8);
  }
}
