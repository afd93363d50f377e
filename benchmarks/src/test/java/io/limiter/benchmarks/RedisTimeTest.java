// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Optional;
import org.junit.jupiter.api.Test;

class RedisTimeTest {

  private static final RedisTime BEFORE =
      RedisTime.parse(
          """
          # Commandstats
          cmdstat_get:calls=100,usec=50,usec_per_call=0.50,rejected_calls=0,failed_calls=0
          cmdstat_evalsha:calls=10,usec=90,usec_per_call=9.00,rejected_calls=0,failed_calls=0
          """,
          "used_cpu_sys:1.5\r\nused_cpu_user:2.0\r\nused_cpu_sys_children:9.0\r\n");

  private static final RedisTime AFTER =
      RedisTime.parse(
          """
          # Commandstats
          cmdstat_get:calls=300,usec=450,usec_per_call=1.50,rejected_calls=0,failed_calls=0
          cmdstat_evalsha:calls=110,usec=590,usec_per_call=5.36,rejected_calls=0,failed_calls=0
          cmdstat_psetex:calls=100,usec=70,usec_per_call=0.70,rejected_calls=0,failed_calls=0
          """,
          "used_cpu_sys:1.7\r\nused_cpu_user:2.3\r\nused_cpu_sys_children:9.0\r\n");

  @Test
  void commandsOfAScriptCountInTheTimeOfTheScript() {
    assertThat(AFTER.minus(BEFORE).microsPerDecision(100, Optional.empty())).isEqualTo(5.0);
  }

  /** 200 GETs, some of them run by scripts: one of them is each decision's own. */
  @Test
  void theMeanOfAPlainCommandCountsOnceADecision() {
    assertThat(AFTER.minus(BEFORE).microsPerDecision(100, Optional.of("get"))).isEqualTo(7.0);
  }

  @Test
  void theProcessorsTimeIsThatOfTheServerItself() {
    assertThat(AFTER.minus(BEFORE).processor()).isCloseTo(0.5, within(1e-9));
  }

  @Test
  void scriptsByTheirNameAndByTheirTextCount() {
    assertThat(AFTER.minus(BEFORE).scripts()).isEqualTo(100);
    assertThat(
            RedisTime.parse(
                    """
                    # Commandstats
                    cmdstat_evalsha:calls=4120,usec=24720,usec_per_call=6.00
                    cmdstat_eval:calls=2,usec=200,usec_per_call=100.00
                    cmdstat_ping:calls=7,usec=7,usec_per_call=1.00
                    """,
                    "")
                .scripts())
        .isEqualTo(4_122);
    assertThat(RedisTime.parse("# Commandstats\r\n", "").scripts()).isZero();
  }
}
