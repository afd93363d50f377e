// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.core.memory.UnitLog.LogTable;
import io.limiter.core.state.Cells;
import io.limiter.core.util.BoundedCache;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** How a table of logs is tidied by its callers. */
class LogTableTest {

  private static final long GRACE = 10;

  private final LogTable table = table(1_000);

  private static LogTable table(int capacity) {
    return new LogTable(capacity, GRACE, new BoundedCache<>(1, Cells::new));
  }

  private static StateKey key(int i) {
    return new StateKey("tag", "key " + i);
  }

  /** Adds a log that expires at a time. */
  private void add(int i, long expires) {
    UnitLog log = new UnitLog(table, key(i));
    log.take(0, 1, 1, expires - GRACE);
    table.keep(log, 0);
  }

  /** What a call of a key does: it looks, and keeps the log or makes room for one. */
  private void call(int i, long clock) {
    UnitLog known = table.find(key(i), clock);
    if (known == null) {
      table.makeRoom(key(i), clock);
    } else {
      table.keep(known, clock);
    }
  }

  /** Sixteen buckets, of which each eighth call of a known key inspects one, a new key two. */
  @Test
  void theKeysThatAreWrittenInspectAllOthersInTurn() {
    for (boolean isNew : new boolean[] {false, true}) {
      table.clear();
      for (int i = 0; i < 10; i++) {
        add(i, 100);
      }
      add(10, 200);
      for (int call = 0; call < (isNew ? 8 : 128); call++) {
        call(isNew ? 11 : 10, 100);
      }
      assertThat(table.size()).isEqualTo(1);
      assertThat(table.peek(key(10))).isNotNull();
    }
  }

  @Test
  void toLookChangesNothing() {
    for (int i = 0; i < 10; i++) {
      add(i, 100);
    }
    for (int i = 0; i < 1_000; i++) {
      assertThat(table.find(key(i % 20), 200)).isNull();
    }
    assertThat(table.size()).isEqualTo(10);
  }

  @Test
  void aNewKeyWithoutRoomInspectsMoreOfThem() {
    LogTable full = table(10);
    for (int i = 0; i < 10; i++) {
      UnitLog log = new UnitLog(full, key(i));
      log.take(0, 1, 1, 100 - GRACE);
      full.keep(log, 0);
    }
    full.makeRoom(key(10), 99);
    assertThat(full.full()).isTrue();
    full.makeRoom(key(10), 100);
    assertThat(full.size()).isZero();
  }

  @Test
  void aLogReplacesAnExpiredOneOfItsKey() {
    add(0, 200);
    add(2, 100);
    assertThat(table.find(key(2), 99)).isNotNull();
    assertThat(table.find(key(2), 100)).isNull();
    add(2, 200);
    assertThat(table.find(key(2), 100)).isNotNull();
    add(2, 300);
    assertThat(table.size()).isEqualTo(2);
    table.remove(key(2));
    assertThat(table.peek(key(2))).isNull();
  }

  @Test
  void aTableIsFullOnceItHoldsAsManyLogsAsItMay() {
    LogTable small = table(2);
    small.keep(new UnitLog(small, key(0)), 0);
    assertThat(small.full()).isFalse();
    small.keep(new UnitLog(small, key(1)), 0);
    assertThat(small.full()).isTrue();
    small.remove(key(0));
    assertThat(small.full()).isFalse();
    small.keep(new UnitLog(small, key(2)), 0);
    small.clear();
    assertThat(small.size()).isZero();
  }

  @Test
  void liveLogsAreNeverLostAndExpiredOnesGoAsOthersAreWritten() {
    Random random = new Random(5);
    for (int round = 0; round < 8; round++) {
      Map<Integer, Long> expiries = new HashMap<>();
      for (int i = 0; i < 100; i++) {
        expiries.put(i, 20L + random.nextInt(1_000));
        add(i, expiries.get(i));
      }
      for (int clock = 0; clock < 1_100; clock += 50) {
        for (int call = 0; call < 100; call++) {
          call(random.nextInt(200), clock); // a hundred of them are new
        }
        for (int call = 0; call < 64; call++) { // of a table of 128 buckets
          call(200, clock);
        }
        for (int i = 0; i < 100; i++) {
          assertThat(table.peek(key(i)) != null)
              .as("log %d, which expires at %d, at %d", i, expiries.get(i), clock)
              .isEqualTo(expiries.get(i) > clock);
        }
      }
    }
  }

  /** Keys with one hash, as "Aa" and "BB" are: they would be one chain. */
  @Test
  void keysThatWereChosenForTheirHashesAreFoundAsFast() {
    LogTable flooded = table(10_000);
    for (int i = 0; i < 4_096; i++) {
      flooded.keep(new UnitLog(flooded, chosen(i)), 0);
    }
    assertThat(chosen(0)).hasSameHashCodeAs(chosen(4_095));
    assertThat(flooded.size()).isEqualTo(4_096);
    assertThat(flooded.longest()).isLessThan(32);
    for (int i = 0; i < 4_096; i++) {
      assertThat(flooded.peek(chosen(i))).isNotNull();
      flooded.remove(chosen(i));
    }
    assertThat(flooded.size()).isZero();
  }

  private static StateKey chosen(int bits) {
    StringBuilder tag = new StringBuilder();
    for (int bit = 0; bit < 12; bit++) {
      tag.append((bits >> bit & 1) == 0 ? "Aa" : "BB");
    }
    return new StateKey(tag.toString(), "r");
  }
}
