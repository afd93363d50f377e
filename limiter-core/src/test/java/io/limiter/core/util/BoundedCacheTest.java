// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BoundedCacheTest {

  private final List<String> made = new ArrayList<>();

  private final BoundedCache<String, Integer> lengths =
      new BoundedCache<>(
          2,
          key -> {
            made.add(key);
            return key.isEmpty() ? Integer.parseInt(key) : key.length();
          });

  @Test
  void valuesBeyondTheBoundAreMadeEachTime() {
    for (int i = 0; i < 2; i++) {
      assertThat(lengths.get("a")).isEqualTo(1);
      assertThat(lengths.get("bb")).isEqualTo(2);
      assertThat(lengths.get("ccc")).isEqualTo(3);
    }
    assertThat(made).containsExactly("a", "bb", "ccc", "ccc");
  }

  @Test
  void aFailureIsNotKept() {
    assertThatThrownBy(() -> lengths.get("")).isInstanceOf(NumberFormatException.class);
    assertThatThrownBy(() -> lengths.get("")).isInstanceOf(NumberFormatException.class);
    assertThat(made).hasSize(2);
  }
}
