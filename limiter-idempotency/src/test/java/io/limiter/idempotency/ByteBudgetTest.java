// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ByteBudgetTest {

  private static final long MOST = 1_000;

  private long nowNanos;
  private final ByteBudget budget = new ByteBudget(MOST, () -> nowNanos);

  @Test
  void whatHasNoRoomIsNotCounted() {
    Duration day = Duration.ofDays(1);
    assertThat(budget.take(600, day)).isTrue();
    assertThat(budget.take(401, day)).isFalse();
    assertThat(budget.take(400, day)).isTrue();
    assertThat(budget.take(1, Duration.ofSeconds(1))).isFalse();
    assertThat(budget.used()).isEqualTo(MOST);

    nowNanos = day.toNanos() * 104 / 100;
    assertThat(budget.take(1_000, day)).isTrue();
  }

  /** A long time leaves room to short ones, and the other way round. */
  @Test
  void allTimesAreCountedTogetherAndNoneEndsEarly() {
    record Taken(long begin, long end, int bytes) {}
    Random random = new Random(65);
    List<Taken> living = new ArrayList<>();
    int taken = 0;
    for (int i = 0; i < 20_000; i++) {
      nowNanos += random.nextLong(Duration.ofSeconds(40).toNanos());
      long now = nowNanos;
      living.removeIf(some -> some.end() + (some.end() - some.begin()) / 25 <= now);
      int bytes = random.nextInt(100);
      Duration time = Duration.ofSeconds(1L << random.nextInt(12));
      long atMost = living.stream().mapToLong(Taken::bytes).sum();
      boolean hasRoom = budget.take(bytes, time);
      if (hasRoom) {
        taken++;
        living.add(new Taken(now, now + time.toNanos(), bytes));
      } else {
        assertThat(atMost + bytes).as("no longer than 4%% more").isGreaterThan(MOST);
      }
      long surely = living.stream().filter(some -> some.end() > now).mapToLong(Taken::bytes).sum();
      assertThat(surely).isLessThanOrEqualTo(MOST);
    }
    assertThat(taken).isGreaterThan(2_000);
  }
}
