// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ServiceStartTest {

  @Test
  void theTimeIsTheOneThatMicronautLogs() {
    assertThat(
            ServiceStart.completed(
                """
                10:00:00.000 INFO  i.l.d.Something - Embedded redis-server on port 1234
                10:00:00.100 INFO  i.m.r.Micronaut - Startup completed in 812ms. Server Running: http://localhost:8080
                """))
        .isEqualTo(812);
  }

  @Test
  void aStartThatLogsNoneIsShown() {
    assertThatThrownBy(() -> ServiceStart.completed("it is cold"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("it is cold");
  }
}
