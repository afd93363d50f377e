// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ExpectedTest {

  private static LoadResult load(long answers, long denied, long errors) {
    return new LoadResult(1, answers, denied, errors, 1, 1);
  }

  @Test
  void aLoadIsWhatItShouldBe() {
    assertThatCode(() -> Expected.ADMITTED.check("/limited", load(10, 0, 0)))
        .doesNotThrowAnyException();
    assertThatCode(() -> Expected.DENIED.check("/denied", load(10, 10, 0)))
        .doesNotThrowAnyException();
  }

  @Test
  void oneDenialFailsARouteThatAdmits() {
    assertThatThrownBy(() -> Expected.ADMITTED.check("/limited", load(10, 1, 0)))
        .hasMessage(
            "/limited should have answered all with 200: of 10 answers 1 had another status, and 0 are missing");
  }

  @Test
  void theFirstOfADenyingRouteMayPassAndNoMore() {
    assertThatCode(() -> Expected.DENIED.check("/denied", load(10, 9, 0)))
        .doesNotThrowAnyException();
    assertThatThrownBy(() -> Expected.DENIED.check("/denied", load(10, 8, 0)))
        .hasMessageContaining("of 10 answers 2 had another status");
  }

  @Test
  void aMissingAnswerSpoilsAnyLoadAndNoAnswerDoes() {
    assertThatThrownBy(() -> Expected.UNLIMITED.check("/plain", load(10, 0, 1)))
        .hasMessageContaining("1 are missing");
    assertThatThrownBy(() -> Expected.DENIED.check("/denied", load(0, 0, 0)))
        .isInstanceOf(IllegalStateException.class);
  }
}
