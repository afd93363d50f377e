// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.FaultBench.HOUR;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** One primary of a Redis Cluster is lost under load, and its replica promoted. */
@Tag("faults")
class LostShardTest {

  /** More than are requested in a second, so that over-admission is possible. */
  private static final long COUNT = 50;

  @Test
  @DisplayName("F15: a primary is killed")
  void aKilledPrimaryIsItsOwnSubjectsMatterAlone() {
    lose(RedisProcess::kill, false);
  }

  @Test
  @DisplayName("F15: a primary falls silent (SIGSTOP), and comes back when it has been replaced")
  void aSilentPrimaryIsReplacedToo() {
    lose(RedisProcess::suspend, false);
  }

  @Test
  @DisplayName("F15: a primary is killed, and the Cluster requires all slots")
  void aClusterThatWantsAllSlotsIsAwayAsAWhole() {
    lose(RedisProcess::kill, true);
  }

  private static void lose(Consumer<RedisProcess> loss, boolean allOrNone) {
    ClusterGroup group =
        ClusterGroup.start("--cluster-require-full-coverage", allOrNone ? "yes" : "no");
    try (ClusterBench bench = ClusterBench.audited(group)) {
      // Most of the calls, so that a common breaker would open for all.
      List<LimitRequest> ofLost = ClusterBench.callsOf(0, 8, COUNT, HOUR);
      List<LimitRequest> calls = new ArrayList<>(ofLost);
      calls.addAll(ClusterBench.callsOf(1, 2, COUNT, HOUR));
      calls.addAll(ClusterBench.callsOf(2, 2, COUNT, HOUR));
      RedisProcess lost = bench.owner(ofLost.get(0));
      Load load = Load.start(bench.limiter, calls, 500);
      await().until(() -> load.answeredSoFar().size() > 200);
      long lostAt = System.nanoTime();
      loss.accept(lost);
      await()
          .pollInterval(Duration.ofMillis(20))
          .atMost(ClusterBench.REPLACED.multipliedBy(FaultBench.NOISE))
          .until(() -> group.isReplaced(lost));
      long promotedAt = System.nanoTime();
      Duration late = bench.assertReplaced(ofLost);
      bench.assertReplaced(calls);
      if (lost.isRunning()) {
        lost.resume();
        FaultBench.pass(Duration.ofSeconds(1));
        bench.assertReplaced(calls);
      }
      await().until(() -> load.answeredSoFar().size() > 3 * COUNT * calls.size());
      Collection<TimedVerdict> answers = load.stop();
      System.out.printf(
          "F15: promoted after %d ms, and asked %d ms later%n",
          (promotedAt - lostAt) / 1_000_000, late.toMillis());

      Set<String> tags =
          ofLost.stream().map(call -> call.charge(0).key().tag()).collect(Collectors.toSet());
      Collection<TimedVerdict> others =
          answers.stream().filter(answer -> !tags.contains(answer.subject())).toList();
      Collection<TimedVerdict> ofTheLost =
          answers.stream().filter(answer -> tags.contains(answer.subject())).toList();
      assertAnsweredInTime(answers);
      if (!allOrNone) {
        assertUnaffected(others);
      }
      assertNotOverAdmitted(others, DecidedBy.STORE, COUNT, HOUR);
      assertNotOverAdmitted(ofTheLost, 2 * COUNT, HOUR);
      assertThat(FaultAssertions.fromStore(ofTheLost)).as("since then").isNotEmpty();
      bench.assertNothingRanTwice();
    }
  }

  /** Except for what a pause of this machine made late; the outage is a third of the run. */
  private static void assertUnaffected(Collection<TimedVerdict> answers) {
    assertThat(FaultAssertions.reasons(answers))
        .isSubsetOf(FailureReason.TIMEOUT, FailureReason.BREAKER_OPEN);
    assertThat(FaultAssertions.fromStore(answers))
        .hasSizeGreaterThanOrEqualTo(answers.size() * 7 / 10);
  }

  @Test
  @DisplayName("F15: of two subjects of a call, one has its primary killed")
  void noSubjectIsEverChargedLessThanItWasGranted() {
    ClusterGroup group = ClusterGroup.start("--cluster-require-full-coverage", "no");
    try (ClusterBench bench = ClusterBench.on(group)) {
      LimitRequest everybody =
          LimitRequest.of(
              Policy.of("everybody", SlidingWindowLogRule.of(100_000, HOUR)), Subject.global());
      RedisProcess lost = bench.owner(everybody);
      int place = group.servers().indexOf(lost);
      List<LimitRequest> users =
          ClusterBench.callsOf((place + 1) % ClusterGroup.PRIMARIES, 11, 10_000, HOUR);
      LimitRequest looking = users.get(10).and(everybody);
      users = users.subList(0, 10);
      List<LimitRequest> both = users.stream().map(user -> user.and(everybody)).toList();
      Load load = Load.start(bench.limiter, both, 500);
      await().until(() -> load.answeredSoFar().size() > 200);
      lost.kill();
      bench.assertReplaced(List.of(looking));
      FaultBench.pass(Duration.ofSeconds(1));
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      for (LimitRequest user : users) {
        List<DecidedBy> granted =
            answers.stream()
                .filter(answer -> answer.subject().equals(user.charge(0).key().tag()))
                .map(answer -> answer.verdict().orElseThrow().decidedBy())
                .toList();
        assertThat(granted).contains(DecidedBy.FALLBACK);
        // No call waits for what it gives back once a part of it has failed.
        await()
            .untilAsserted(
                () ->
                    assertThat(bench.used(user).get(0))
                        .as(
                            "units taken: for what was granted by whichever, and what could not be given back")
                        .isBetween((long) granted.size(), granted.size() + 3L));
      }
    }
  }
}
