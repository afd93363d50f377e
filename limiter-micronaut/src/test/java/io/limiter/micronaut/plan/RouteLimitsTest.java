// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whether two patterns may match one path. */
class RouteLimitsTest {

  @ParameterizedTest
  @CsvSource({
    "/, /, true",
    "/, /**, true",
    "/, /a, false",
    "/a, /a, true",
    "/a, /b, false",
    "/a, /a/b, false",
    "/a/*, /a/b, true",
    "/a/*, /a/b/c, false",
    "/a/*.js, /a/*.css, true", // not compared further
    "/a/*.js, /a/b.css, false",
    "/a/**, /a, true",
    "/a/**, /b/**, false",
    "/**/b, /a/**, true",
    "/a/**/d, /a/b/c/d, true",
    "/a/**/d, /a/b/c, false",
    "/**/a/**/b, /**/b/**/a, false",
    "/**/a/**, /b/**/c, true"
  })
  void twoPatternsMeet(String one, String other, boolean expected) {
    assertThat(RouteLimits.meet(one, other)).isEqualTo(expected);
    assertThat(RouteLimits.meet(other, one)).isEqualTo(expected);
  }

  @Test
  void manyWildcardsCostNoExponentialTime() {
    assertThat(RouteLimits.meet("/**/a".repeat(60) + "/x", "/**/b".repeat(60) + "/y")).isFalse();
  }
}
