// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.limiter.idempotency.World.Mutation;
import io.limiter.idempotency.World.Violation;
import java.util.ArrayDeque;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** All that may happen to a submission, in every order: the promises of the package hold. */
class SubmissionModelTest {

  @ParameterizedTest(name = "{0} submissions, {1} faults, {2} crashes")
  @CsvSource({"2, 1, 1, 90000", "2, 2, 0, 300000", "3, 0, 1, 150000"})
  void thePromisesHold(int attempts, int faults, int crashes, int least) {
    assertThat(explore(attempts, faults, crashes, EnumSet.noneOf(Mutation.class)))
        .as("states: fewer, and something cannot happen any more")
        .isGreaterThan(least);
  }

  @Tag("matrix")
  @ParameterizedTest(name = "{0} submissions, {1} faults, {2} crashes")
  @CsvSource({"2, 2, 1, 800000", "3, 1, 0, 1000000"})
  void thePromisesHoldForMore(int attempts, int faults, int crashes, int least) {
    thePromisesHold(attempts, faults, crashes, least);
  }

  @ParameterizedTest
  @EnumSource(Mutation.class)
  void aGuardThatIsTakenAwayIsMissed(Mutation mutation) {
    assertThatExceptionOfType(Violation.class)
        .isThrownBy(() -> explore(2, 2, 0, EnumSet.of(mutation)))
        .withMessageContaining(mutation.breaks);
  }

  private static int explore(int attempts, int faults, int crashes, Set<Mutation> mutations) {
    Set<String> known = new HashSet<>();
    ArrayDeque<World> open = new ArrayDeque<>();
    open.add(new World(attempts, faults, crashes, mutations));
    while (!open.isEmpty()) {
      open.remove()
          .next(
              world -> {
                if (known.add(world.key())) {
                  open.add(world);
                }
              });
    }
    return known.size();
  }
}
