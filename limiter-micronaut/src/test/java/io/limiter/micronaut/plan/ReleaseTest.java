// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** After which failures a submission may be made again. */
class ReleaseTest {

  private static final Release NEVER = new Release.Never();
  private static final Release ON_FAILURE = new Release.OnFailure();
  private static final Release ON_STATUS = new Release.OnStatus(Set.of(404, 503));

  @Test
  void neverIsNever() {
    assertThat(released(NEVER, true)).isEmpty();
    assertThat(released(NEVER, false)).isEmpty();
    assertThat(NEVER.afterException(true)).isFalse();
    assertThat(NEVER.afterException(false)).isFalse();
  }

  @Test
  void aFailureIsAnExceptionOrAStatusOf500AndAbove() {
    assertThat(ON_FAILURE.afterException(true)).isTrue();
    assertThat(ON_FAILURE.afterException(false)).isTrue();
    assertThat(released(ON_FAILURE, true)).containsExactly(IntStream.range(500, 600).toArray());
  }

  @Test
  void anAnswerThatTheMethodDidNotGiveIsAFailureWhateverItsStatus() {
    assertThat(released(ON_FAILURE, false)).containsExactly(IntStream.range(100, 600).toArray());
  }

  @Test
  void aListOfStatusesLooksAtNothingElse() {
    assertThat(released(ON_STATUS, true)).containsExactly(404, 503);
    assertThat(released(ON_STATUS, false)).containsExactly(404, 503);
  }

  @Test
  void anExceptionCountsAs500OnlyWhereNoAnswerTellsMore() {
    Release on500 = new Release.OnStatus(Set.of(500));

    assertThat(on500.afterException(false)).isTrue();
    assertThat(on500.afterException(true)).isFalse();
    assertThat(ON_STATUS.afterException(false)).isFalse();
  }

  private static int[] released(Release release, boolean settled) {
    return IntStream.range(100, 600).filter(status -> release.after(status, settled)).toArray();
  }
}
