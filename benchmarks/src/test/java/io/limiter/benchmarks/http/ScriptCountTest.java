// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ScriptCountTest {

  @Test
  void scriptsByTheirNameAndByTheirTextCount() {
    assertThat(
            ScriptCount.in(
                """
                # Commandstats
                cmdstat_evalsha:calls=4120,usec=24720,usec_per_call=6.00
                cmdstat_eval:calls=2,usec=200,usec_per_call=100.00
                cmdstat_ping:calls=7,usec=7,usec_per_call=1.00
                """))
        .isEqualTo(4_122);
  }

  @Test
  void aServerThatHasRunNoneHasRunNone() {
    assertThat(ScriptCount.in("# Commandstats\r\n")).isZero();
  }
}
