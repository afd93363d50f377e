// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.fromStore;
import static io.limiter.core.faults.FaultAssertions.reasons;
import static io.limiter.core.faults.LimiterBench.HOUR;
import static io.limiter.core.faults.LimiterBench.NOISE;
import static io.limiter.core.faults.LimiterBench.call;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.KillArgs;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The sentinels are down, silent, or wrong, and the primary is up. */
@Tag("faults")
class LostSentinelsTest {

  private static final LimitRequest CALL = call("sentinels", 1_000_000, HOUR);

  /**
   * Each attempt asks another sentinel first, so one or two wrong ones cost as many attempts and
   * the pauses after them, of up to a second each; and half a second for each that is silent.
   */
  private static final Duration FOUND = Duration.ofSeconds(4);

  @Test
  @DisplayName("All sentinels are down at the start and come up later")
  void withoutSentinelsTheFallbackDecidesUntilTheyAreThere() {
    SentinelGroup group = SentinelGroup.start();
    group.sentinels().forEach(RedisProcess::kill);
    try (SentinelBench bench = SentinelBench.on(group, group.uri())) {
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofSeconds(1), bench.limiter, List.of(CALL), 200);
      assertAnsweredInTime(answers);
      assertThat(fromStore(answers)).isEmpty();

      group.sentinels().forEach(RedisProcess::start);
      bench.assertHeals();
    }
  }

  @Test
  @DisplayName("All sentinels are lost, then the connection too, and the primary stands")
  void withoutSentinelsTheLastPrimaryContinuesToDecide() {
    try (SentinelBench bench = SentinelBench.start()) {
      bench.group.sentinels().forEach(RedisProcess::kill);
      RedisProcess primary = bench.group.servers().get(0);
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofSeconds(1), bench.limiter, List.of(CALL), 200);
      assertThat(reasons(answers)).doesNotContain(FailureReason.DISCONNECTED);
      assertThat(fromStore(answers)).hasSizeGreaterThan(answers.size() / 2);

      bench.admin(primary, redis -> redis.clientKill(KillArgs.Builder.typeNormal()));
      bench.assertHeals();
      assertThat(bench.executed(primary)).doesNotHaveDuplicates().containsAll(bench.nonces(true));
    }
  }

  @Test
  @DisplayName("The sentinel that is named first is silent (SIGSTOP)")
  void aSilentSentinelIsPassedOver() {
    SentinelGroup group = SentinelGroup.start();
    group.sentinels().get(0).suspend();
    assertFound(group, group.uri());
  }

  @Test
  @DisplayName("Two of three sentinels are silent (SIGSTOP)")
  void twoSilentSentinelsArePassedOver() {
    SentinelGroup group = SentinelGroup.start();
    group.sentinels().get(0).suspend();
    group.sentinels().get(2).suspend();
    assertFound(group, group.uri());
  }

  @Test
  @DisplayName("The sentinel that is named first names a primary that is dead, and stays wrong")
  void aSentinelThatNamesADeadPrimaryIsPassedOver() {
    SentinelGroup group = SentinelGroup.start();
    RedisProcess dead = RedisProcess.onFreePort().start();
    RedisProcess wrong = group.addLoneSentinel(dead);
    dead.close();
    assertFound(group, uri(wrong, group.sentinels()));
  }

  @Test
  @DisplayName("The sentinel that is named first names a replica, and stays wrong")
  void aSentinelThatNamesAReplicaIsPassedOver() {
    SentinelGroup group = SentinelGroup.start();
    RedisProcess wrong = group.addLoneSentinel(group.replicas().get(0));
    assertFound(group, uri(wrong, group.sentinels()));
  }

  private static String uri(RedisProcess first, List<RedisProcess> all) {
    List<RedisProcess> ordered = new ArrayList<>(List.of(first));
    all.stream().filter(sentinel -> sentinel != first).forEach(ordered::add);
    return SentinelGroup.uri(ordered);
  }

  private static void assertFound(SentinelGroup group, String uri) {
    try (SentinelBench bench = SentinelBench.on(group, uri)) {
      await()
          .atMost(FOUND.multipliedBy(NOISE))
          .until(() -> bench.ask(CALL).decidedBy() == DecidedBy.STORE);
    }
  }
}
