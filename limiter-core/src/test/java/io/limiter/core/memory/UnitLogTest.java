// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.core.state.Cells;
import io.limiter.core.util.BoundedCache;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A log compared with a plain list of times, and its memory. */
class UnitLogTest {

  private final UnitLog log =
      new UnitLog(
          new UnitLog.LogTable(1, 0, new BoundedCache<>(1, Cells::new)),
          new StateKey("tag", "key"));

  @ParameterizedTest
  @CsvSource({"1, 0", "2, 1700000000000000", "3, -200", "4, 9223372036854775000"})
  void aLogHoldsWhatAPlainListWould(int seed, long start) {
    Random random = new Random(seed);
    List<Long> times = new ArrayList<>();
    long now = start;
    long keep;
    long horizon = 100 + random.nextInt(900);
    int most = 0;
    for (int step = 0; step < 6_000; step++) {
      long time = now += random.nextInt(3) * random.nextInt(20);
      if (random.nextInt(3) > 0) {
        int units = 1 + random.nextInt(random.nextInt(50) == 0 ? 100 : 3);
        keep = 20 + random.nextInt(40);
        log.take(now, units, keep, horizon);
        log.wrote(now, 0);
        long longest = horizon;
        times.removeIf(each -> time - each >= longest);
        keep = Math.max(keep, times.size());
        units = (int) Math.min(units, keep);
        for (int i = 0; i < units; i++) {
          times.add(now);
        }
        times.subList(0, (int) Math.max(0, times.size() - keep)).clear();
      } else {
        long stamp = now - random.nextInt(random.nextInt(10) == 0 ? 1_000 : 10);
        if (!times.isEmpty() && random.nextBoolean()) {
          stamp = times.get(random.nextInt(times.size()));
        }
        int units = 1 + random.nextInt(4);
        int given = 0;
        while (given < units && times.remove((Object) stamp)) {
          given++;
        }
        assertThat(log.giveBack(stamp, units)).isEqualTo(given);
      }
      int age = random.nextInt(1_100);
      assertThat(stamps()).as("step %d", step).isEqualTo(times);
      assertThat(log.firstYounger(now, age))
          .isEqualTo((int) times.stream().filter(each -> time - each >= age).count());
      if (!times.isEmpty()) {
        assertThat(log.newestMicros()).isEqualTo(times.get(times.size() - 1));
      }
      most = Math.max(most, times.size());
    }
    assertThat(most).isGreaterThan(50);
  }

  private List<Long> stamps() {
    List<Long> stamps = new ArrayList<>();
    for (int i = 0; i < log.size(); i++) {
      stamps.add(log.stampMicros(i));
    }
    return stamps;
  }

  @ParameterizedTest
  @CsvSource({"1, 4", "4, 4", "5, 8", "8, 8", "9, 16", "16, 16", "1000, 1024", "1024, 1024"})
  void thereIsMemoryForTheNextPowerOfTwo(int units, int memory) {
    log.take(0, units, 10_000, 1_000);
    assertThat(log.capacity()).isEqualTo(memory);
  }

  @Test
  void memoryIsGivenBackOnceAnEighthOfItIsUsed() {
    log.take(0, 1_000, 1_000, 100);
    log.take(50, 128, 1_000, 100);
    log.take(100, 1, 1_000, 100);
    assertThat(log.size()).isEqualTo(129);
    assertThat(log.capacity()).as("above an eighth").isEqualTo(1_024);
    log.take(150, 128, 1_000, 100);
    assertThat(log.size()).isEqualTo(129);
    assertThat(log.capacity()).isEqualTo(1_024);
    log.take(250, 128, 1_000, 100);
    assertThat(log.capacity()).as("an eighth").isEqualTo(128);
    assertThat(stamps()).hasSize(128).containsOnly(250L);
  }

  @Test
  void aLogWhoseUnitsWereAllGivenBackTakesNoMemoryAndStartsAgain() {
    log.take(0, 9, 100, 1_000);
    assertThat(log.giveBack(0, 9)).isEqualTo(9);
    assertThat(log.capacity()).isZero();
    log.take(10, 5, 3, 100);
    assertThat(stamps()).containsExactly(10L, 10L, 10L);
    assertThat(log.expired(109, 0)).isFalse();
    assertThat(log.expired(110, 0)).isTrue();
  }

  @Test
  void aLogWithoutUnitsHasExpired() {
    assertThat(log.expired(0, 1_000)).isTrue();
    log.take(0, 1, 1, 100);
    assertThat(log.expired(0, 1_000)).isFalse();
    log.giveBack(0, 1);
    assertThat(log.expired(0, 1_000)).isTrue();
  }

  @Test
  void aLogExpiresByItsOwnTimeWhereTheClockWasSetBack() {
    log.take(800, 1, 10, 100); // 300 by the clock
    log.wrote(800, 500);
    assertThat(log.expired(449, 50)).isFalse();
    assertThat(log.expired(450, 50)).isTrue();
  }

  /** The zero of a clock has no meaning. */
  @Test
  void aLogExpiresThoughItsClockStartsBelowZero() {
    log.take(-1_000, 1, 10, 100);
    log.taken(-1_000);
    assertThat(log.expired(1_005, 50)).isTrue();
  }

  @Test
  void aLogIsAsOldAsItsNewestUnitThatIsLeft() {
    log.take(0, 2, 10, 100);
    log.take(60, 2, 10, 100);
    assertThat(log.giveBack(60, 5)).isEqualTo(2);
    assertThat(log.expired(99, 0)).isFalse();
    assertThat(log.expired(100, 0)).isTrue();
  }
}
