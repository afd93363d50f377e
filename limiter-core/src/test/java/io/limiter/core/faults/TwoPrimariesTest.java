// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.FaultAssertions.reasons;
import static io.limiter.core.faults.LimiterBench.HEALED;
import static io.limiter.core.faults.LimiterBench.NOISE;
import static io.limiter.core.faults.LimiterBench.calls;
import static io.limiter.core.faults.SentinelBench.outage;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.KillArgs;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A primary that was replaced is not aware of it yet, or has just been informed. */
@Tag("faults")
class TwoPrimariesTest {

  private static final Duration WINDOW = Duration.ofSeconds(2);
  private static final int COUNT = 20;
  private static final List<LimitRequest> CALLS = calls(4, COUNT, WINDOW);
  private static final int PER_SECOND = 300;

  /** Sentinel waits eight seconds before it demotes a primary that comes back. */
  private static final Duration DEMOTED = Duration.ofSeconds(20);

  @Test
  @DisplayName("F13: a primary that was stopped (SIGSTOP) and replaced comes back")
  void eachOfTwoPrimariesAdmitsTheCount() {
    try (SentinelBench bench = SentinelBench.start()) {
      Collection<TimedVerdict> pinned = comeBack(bench);

      assertThat(pinned)
          .as("decided by the old primary after it was replaced")
          .anyMatch(SentinelBench::isDecided);
    }
  }

  @Test
  @DisplayName("F13: a replaced primary comes back, with min-replicas-to-write 1")
  void anOldPrimaryThatWantsAReplicaDecidesNothing() {
    try (SentinelBench bench = SentinelBench.start("--min-replicas-to-write", "1")) {
      Collection<TimedVerdict> pinned = comeBack(bench);

      assertThat(reasons(pinned)).contains(FailureReason.ERROR);
      assertThat(pinned.stream().skip(PER_SECOND))
          .as("a second after it came back")
          .noneMatch(SentinelBench::isDecided);
    }
  }

  /** Returns the answers of an instance that stayed with the old primary, once that was back. */
  private Collection<TimedVerdict> comeBack(SentinelBench bench) {
    SentinelGroup group = bench.group;
    RedisProcess old = group.primary();
    LimitStore pinned = bench.pinnedTo(old);
    Load here = Load.start(bench.limiter, CALLS, PER_SECOND);
    Load there = Load.start(pinned, CALLS, PER_SECOND);
    await().until(() -> there.answeredSoFar().size() > PER_SECOND);
    old.suspend();
    group.awaitPrimaryInsteadOf(old);
    SentinelBench.assertHeals(here);
    long back = System.nanoTime();
    old.resume();
    await().atMost(DEMOTED.multipliedBy(NOISE)).until(() -> bench.role(old).equals("slave"));
    List<TimedVerdict> all = new ArrayList<>(there.stop());
    List<TimedVerdict> afterwards = all.stream().filter(answer -> answer.sent() > back).toList();
    all.addAll(here.stop());

    assertAnsweredInTime(all);
    assertNotOverAdmitted(all, DecidedBy.STORE, 2 * COUNT, WINDOW);
    return afterwards;
  }

  @ParameterizedTest(name = "F14: demoted after SENTINEL FAILOVER, its clients are ended: {0}")
  @ValueSource(booleans = {true, false})
  void aDemotedPrimaryIsLeftForTheNewOne(boolean ended) {
    try (SentinelBench bench = SentinelBench.start()) {
      Load load = Load.start(bench.limiter, CALLS, PER_SECOND);
      await().until(() -> load.answeredSoFar().size() > PER_SECOND);
      RedisProcess old = bench.group.primary();
      bench.group.failOver();
      RedisProcess elected = bench.group.awaitPrimaryInsteadOf(old);
      // What Sentinel also does, eight seconds later.
      bench.demote(old, elected.port());
      if (ended) {
        bench.admin(old, redis -> redis.clientKill(KillArgs.Builder.typeNormal()));
      }
      SentinelBench.assertHeals(load);
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      assertThat(outage(answers)).isLessThan(HEALED.multipliedBy(NOISE));
      assertThat(answers.stream().filter(TwoPrimariesTest::rejectedByTheNode))
          .as("asked of a node that is a replica")
          .hasSizeLessThan(PER_SECOND / 10);
      assertNotOverAdmitted(answers, DecidedBy.STORE, 2 * COUNT, WINDOW);
      bench.assertNothingRanTwice();
    }
  }

  private static boolean rejectedByTheNode(TimedVerdict answer) {
    return answer
        .verdict()
        .flatMap(it -> it.reason())
        .filter(FailureReason.ERROR::equals)
        .isPresent();
  }

  @Test
  @DisplayName("F14: SENTINEL FAILOVER, and all is left to Sentinel")
  void aFailoverByHandIsFollowed() {
    try (SentinelBench bench = SentinelBench.start()) {
      Load load = Load.start(bench.limiter, CALLS, PER_SECOND);
      await().until(() -> load.answeredSoFar().size() > PER_SECOND);
      RedisProcess old = bench.group.primary();
      bench.group.failOver();
      bench.group.awaitPrimaryInsteadOf(old);
      await().atMost(DEMOTED.multipliedBy(NOISE)).until(() -> bench.role(old).equals("slave"));
      SentinelBench.assertHeals(load);
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      assertThat(outage(answers)).isLessThan(HEALED.multipliedBy(NOISE));
      assertNotOverAdmitted(answers, DecidedBy.STORE, 2 * COUNT, WINDOW);
    }
  }
}
