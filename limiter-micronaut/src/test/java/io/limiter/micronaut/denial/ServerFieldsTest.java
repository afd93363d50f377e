// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class ServerFieldsTest {

  @Test
  void aDayHasTwoDigits() {
    assertThat(ServerFields.text(Instant.parse("2026-12-01T07:08:09Z").getEpochSecond()))
        .isEqualTo("Tue, 01 Dec 2026 07:08:09 GMT");
  }
}
