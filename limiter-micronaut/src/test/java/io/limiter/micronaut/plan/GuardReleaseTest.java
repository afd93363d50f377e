// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** After which failures a submission may be made again. */
class GuardReleaseTest {

  private static final DuplicateGuard.Release NEVER = DuplicateGuard.Release.NEVER;
  private static final DuplicateGuard.Release ON_FAILURE = DuplicateGuard.Release.ON_FAILURE;
  private static final DuplicateGuard.Release ON_STATUS =
      DuplicateGuard.Release.on(Set.of(404, 503));

  @Test
  void aGuardThatNeverReleasesKeepsFailuresAndSuccesses() {
    assertThat(released(NEVER, true)).isEmpty();
    assertThat(released(NEVER, false)).isEmpty();
  }

  @Test
  void aFailureIsAnExceptionOrAStatusOf500AndAbove() {
    assertThat(released(ON_FAILURE, false)).containsExactly(IntStream.range(500, 600).toArray());
    assertThat(released(ON_FAILURE, true)).containsExactly(IntStream.range(100, 600).toArray());
  }

  @Test
  void aListOfStatusesLooksAtNothingElse() {
    assertThat(released(ON_STATUS, true)).containsExactly(404, 503);
    assertThat(released(ON_STATUS, false)).containsExactly(404, 503);
  }

  private static int[] released(DuplicateGuard.Release release, boolean threw) {
    return IntStream.range(100, 600).filter(status -> release.after(status, threw)).toArray();
  }
}
