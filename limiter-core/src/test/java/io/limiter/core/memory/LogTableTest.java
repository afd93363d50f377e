// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.core.memory.UnitLog.LogTable;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** How a table of logs is tidied by its callers. */
class LogTableTest {

  private static final long GRACE = 10;

  private final LogTable table = new LogTable(1_000, GRACE);

  private static StateKey key(int i) {
    return new StateKey("tag", "key " + i);
  }

  /** Adds a log that expires at a time. */
  private void add(int i, long expires) {
    UnitLog log = new UnitLog();
    log.take(0, 1, 1, expires - GRACE);
    table.put(key(i), log);
  }

  @Test
  void anExistingKeyRemovesOneExpiredLogAndANewOneTwo() {
    for (int i = 0; i < 10; i++) {
      add(i, 100);
    }
    add(10, 200);
    assertThat(table.find(key(10), 100)).isNotNull();
    assertThat(table.size()).isEqualTo(10);
    assertThat(table.find(key(11), 100)).isNull();
    assertThat(table.size()).isEqualTo(8);
  }

  @Test
  void aLiveLogMovesToTheEndSoThatOthersAreInspectedToo() {
    add(0, 200);
    add(1, 200);
    add(2, 100);
    add(3, 100);
    table.find(key(9), 100);
    assertThat(table.size()).isEqualTo(4);
    table.find(key(9), 100);
    assertThat(table.size()).isEqualTo(2);
    assertThat(table.peek(key(0))).isNotNull();
    assertThat(table.peek(key(1))).isNotNull();
  }

  @Test
  void aLogThatIsFoundIsInspectedLast() {
    add(0, 200);
    add(1, 200);
    add(2, 100);
    assertThat(table.find(key(1), 100)).isNotNull();
    assertThat(table.find(key(1), 100)).isNotNull();
    assertThat(table.size()).isEqualTo(2);
  }

  @Test
  void aLogReplacesAnExpiredOneOfItsKey() {
    add(0, 200);
    add(1, 200);
    add(2, 100);
    assertThat(table.find(key(2), 100)).isNull();
    add(2, 200);
    assertThat(table.size()).isEqualTo(3);
    table.remove(key(2));
    assertThat(table.peek(key(2))).isNull();
  }

  @Test
  void anExpiredLogIsNotFoundThoughItWasNotRemovedYet() {
    add(0, 200);
    add(1, 200);
    add(2, 100);
    assertThat(table.find(key(2), 99)).isNotNull();
    assertThat(table.find(key(2), 100)).isNull();
  }

  @Test
  void aTableIsFullOnceItHoldsAsManyLogsAsItMay() {
    LogTable small = new LogTable(2, GRACE);
    small.put(key(0), new UnitLog());
    assertThat(small.full()).isFalse();
    small.put(key(1), new UnitLog());
    assertThat(small.full()).isTrue();
    small.remove(key(0));
    assertThat(small.full()).isFalse();
    small.put(key(2), new UnitLog());
    small.clear();
    assertThat(small.size()).isZero();
  }

  @Test
  void liveLogsAreNeverLostAndExpiredOnesGoAsOthersAreAskedFor() {
    Random random = new Random(5);
    for (int round = 0; round < 8; round++) {
      Map<Integer, Long> expiries = new HashMap<>();
      for (int i = 0; i < 100; i++) {
        expiries.put(i, 20L + random.nextInt(1_000));
        add(i, expiries.get(i));
      }
      for (int clock = 0; clock < 1_100; clock += 50) {
        for (int call = 0; call < 100; call++) {
          table.find(key(random.nextInt(200)), clock); // a hundred of them are new
        }
        for (int call = 0; call < 50; call++) {
          table.find(key(200), clock);
        }
        for (int i = 0; i < 100; i++) {
          assertThat(table.peek(key(i)) != null)
              .as("log %d, which expires at %d, at %d", i, expiries.get(i), clock)
              .isEqualTo(expiries.get(i) > clock);
        }
      }
    }
  }
}
