// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.LimiterBench.HOUR;
import static io.limiter.core.faults.LimiterBench.call;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Redis replies before its replicas have received its writes. */
@Tag("faults")
class LostWritesTest {

  private static final int COUNT = 100;
  private static final LimitRequest CALL = call("lost-writes", COUNT, HOUR);

  @Test
  @DisplayName(
      "F18: two failovers in one window, each loses what was written since a moment before")
  void eachFailoverGivesTheCountOnceMore() {
    try (SentinelBench bench = SentinelBench.start()) {
      List<TimedVerdict> answers = new ArrayList<>();
      for (int loss = 0; loss < 2; loss++) {
        try (FaultProxy link = replicateThrough(bench)) {
          link.blackHoleOpenConnections();
          answers.addAll(Load.burst(bench.limiter, CALL, 2 * COUNT));
          RedisProcess lost = bench.group.primary();
          assertThat(bench.used(CALL)).as("counted by the primary alone").isEqualTo(COUNT);

          lost.kill();
          bench.group.awaitPrimaryInsteadOf(lost);
          bench.assertHeals();
        }
        assertThat(bench.used(CALL)).as("what the new primary knows").isZero();
      }
      answers.addAll(Load.burst(bench.limiter, CALL, 2 * COUNT));

      assertAnsweredInTime(answers);
      assertNotOverAdmitted(answers, DecidedBy.STORE, 3 * COUNT, HOUR);
      bench.assertNothingRanTwice();
    }
  }

  /** Returns the proxy between the replicas and the primary. Sentinel repairs it in 3 seconds. */
  private static FaultProxy replicateThrough(SentinelBench bench) {
    FaultProxy link = new FaultProxy(bench.group.primary().port());
    Collection<RedisProcess> replicas =
        bench.group.replicas().stream().filter(RedisProcess::isRunning).toList();
    replicas.forEach(replica -> bench.demote(replica, link.port()));
    await()
        .until(
            () ->
                replicas.stream()
                    .allMatch(
                        replica ->
                            bench
                                .admin(replica, redis -> redis.info("replication"))
                                .contains("master_link_status:up")));
    return link;
  }
}
