// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The keys of a store are divided among its stripes. */
class StripedStateTest {

  @ParameterizedTest
  @CsvSource({"1, 1", "511, 1", "512, 2", "1023, 2", "1024, 4", "10007, 32", "100003, 64"})
  void stripesHaveRoomForAllKeysAndDifferByOneAtMost(int capacity, int stripes) {
    StripedState state = new StripedState(capacity, () -> 0, 0);
    List<Integer> room = new ArrayList<>();
    for (int i = 0; i < state.count(); i++) {
      UnitLog.LogTable subjects = state.get(i).subjects;
      while (!subjects.full()) {
        subjects.put(new StateKey("tag", "key" + subjects.size()), new UnitLog());
      }
      room.add(subjects.size());
    }

    assertThat(room).hasSize(stripes);
    assertThat(room.stream().mapToInt(keys -> keys).sum()).isEqualTo(capacity);
    assertThat(room.stream().mapToInt(keys -> keys).max().getAsInt())
        .isLessThanOrEqualTo((capacity + stripes - 1) / stripes);
  }
}
