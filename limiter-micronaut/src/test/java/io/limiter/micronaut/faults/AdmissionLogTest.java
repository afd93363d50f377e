// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class AdmissionLogTest {

  private final AdmissionLog log = new AdmissionLog(2, Duration.ofHours(1));

  private void call(String call, String key, boolean admitted) {
    log.sent(call);
    log.answered(call, key, admitted);
  }

  @Test
  void asManyAsMayBeAreNoViolation() {
    call("1", "ada", true);
    call("2", "ada", true);
    call("3", "ada", false);
    call("4", "bob", true);
    assertThat(log.violations()).isEmpty();
    assertThat(log.admitted()).isEqualTo(3);
  }

  @Test
  void oneAdmissionTooManyIsFoundAfterAnEarlierCheck() {
    call("1", "ada", true);
    call("2", "ada", true);
    assertThat(log.violations()).isEmpty();
    call("3", "ada", true);
    assertThat(log.violations()).containsExactly("3 calls of ada admitted in one window of 2");
  }

  @Test
  void aResponseWithoutARequestCountsNothing() {
    log.answered("1", "ada", true);
    assertThat(log.admitted()).isZero();
  }
}
