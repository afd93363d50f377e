// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.faults.OverAdmissionChecker.Admission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class OverAdmissionCheckerTest {

  private final OverAdmissionChecker two = new OverAdmissionChecker(2, Duration.ofMillis(1_000));
  private final List<Admission> history = new ArrayList<>();

  @Test
  void oneMoreWithinAWindowIsOne() {
    admitted("a", 0, 1);
    admitted("a", 400, 401);
    admitted("a", 997, 998);

    assertThat(two.violations(history)).containsExactly("3 calls of a admitted in one window of 2");
  }

  @Test
  void eachKeyHasItsOwn() {
    for (String key : List.of("a", "b")) {
      admitted(key, 0, 1);
      admitted(key, 0, 1);
    }
    assertThat(two.violations(history)).isEmpty();
  }

  @Test
  void aNonceThatAppearsTwiceIsAViolation() {
    history.add(new Admission("a", 0, 1, "n"));
    history.add(new Admission("b", 5_000_000_000L, 5_000_000_001L, "n"));

    assertThat(two.violations(history)).containsExactly("n counted twice");
  }

  /** The oracle checks every pair of a first sent and a last answered call. */
  @Test
  void itFindsAsMuchAsTryingEveryInterval() {
    Random random = new Random(1);
    int violated = 0;
    for (int round = 0; round < 500; round++) {
      history.clear();
      for (int i = 0; i < 12; i++) {
        int sent = random.nextInt(15_000);
        admitted("a", sent, sent + 1 + random.nextInt(random.nextBoolean() ? 10 : 1_200));
      }
      long most = history.stream().mapToLong(this::fromThisOn).max().orElseThrow();
      assertThat(two.violations(history).isEmpty()).as("%s", history).isEqualTo(most <= 2);
      violated += most > 2 ? 1 : 0;
    }
    assertThat(violated).isBetween(50, 450);
  }

  private long fromThisOn(Admission first) {
    return history.stream()
        .sorted(Comparator.comparingLong(Admission::sent))
        .filter(one -> one.sent() >= first.sent() && one.answered() < first.sent() + 999_000_000)
        .count();
  }

  private void admitted(String key, long sentMillis, long answeredMillis) {
    history.add(
        new Admission(
            key,
            sentMillis * 1_000_000,
            answeredMillis * 1_000_000,
            Integer.toString(history.size())));
  }
}
