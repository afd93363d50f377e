// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertFellBack;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.FaultAssertions.fromStore;
import static io.limiter.core.faults.FaultAssertions.reasons;
import static io.limiter.core.faults.FaultBench.ANSWERED;
import static io.limiter.core.faults.FaultBench.HOUR;
import static io.limiter.core.faults.FaultBench.LETTUCE_THREADS;
import static io.limiter.core.faults.FaultBench.NOISE;
import static io.limiter.core.faults.FaultBench.call;
import static io.limiter.core.faults.FaultBench.calls;
import static io.limiter.core.faults.FaultBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.testing.RecordedLog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Redis does not answer: stopped, behind a dead network, or with one reply lost. */
@Tag("faults")
class SilentRedisTest {

  private static final Duration SECOND = Duration.ofSeconds(1);

  /** The most commands of a connection that wait for a reply. */
  private static final int MOST_WAITING = 4_096;

  @Test
  @DisplayName("F3: Redis stopped for half a second (SIGSTOP) and continued")
  void aStoppedRedisDelaysNoCallAndRunsNothingTwice() {
    stopFor(Duration.ofMillis(500));
  }

  @Test
  @DisplayName("F3: Redis stopped for three seconds (SIGSTOP) and continued")
  void aRedisThatStopsForLongDelaysNoCallAndRunsNothingTwice() {
    stopFor(Duration.ofSeconds(3));
  }

  private void stopFor(Duration time) {
    try (FaultBench bench = FaultBench.start()) {
      Load load = Load.start(bench.limiter, calls(4, 20, SECOND), 500);
      await().until(() -> load.answeredSoFar().size() > 100);
      int threads = Thread.activeCount();
      bench.redis.suspend();
      pass(time);
      assertThat(Thread.activeCount()).as("threads").isLessThanOrEqualTo(threads + LETTUCE_THREADS);
      bench.redis.resume();
      bench.assertHeals();
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      assertThat(reasons(answers)).contains(FailureReason.TIMEOUT);
      assertNotOverAdmitted(answers, 20, SECOND);
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F4: black hole, every call answered in time")
  void aBlackHoleDelaysNoCall() {
    try (FaultBench bench = FaultBench.start()) {
      bench.proxy.blackHole();
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofMillis(500), bench.limiter, calls(4, 20, SECOND), 500);

      assertAnsweredInTime(answers);
      assertThat(fromStore(answers)).isEmpty();
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F4: black hole, the connection is given up and reopened")
  void aConnectionThatLeadsNowhereIsGivenUp() {
    try (FaultBench bench = FaultBench.start()) {
      bench.proxy.blackHoleOpenConnections();
      LimitRequest call = call("hole", 1_000_000, HOUR);
      await()
          .atMost(Duration.ofSeconds(5).multipliedBy(NOISE))
          .until(() -> bench.ask(call).decidedBy() == DecidedBy.STORE);
      assertThat(bench.proxy.accepted()).isBetween(2, 4);
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F9: one reply is lost in the middle of a pipeline")
  void aLostReplyDelaysNoCall() {
    try (FaultBench bench = FaultBench.start()) {
      bench.proxy.swallowReplyAfter(20);
      Collection<TimedVerdict> answers = Load.burst(bench.limiter, call("lost", 1_000, HOUR), 64);

      assertThat(answers).hasSize(64);
      assertThat(answers)
          .allMatch(answer -> answer.latency().compareTo(ANSWERED.multipliedBy(NOISE)) < 0);
      assertThat(reasons(answers)).containsExactly(FailureReason.TIMEOUT);
    }
  }

  @Test
  @DisplayName("F10: more calls than may wait")
  void beyondTheQueueCallsAreDeniedAtOnce() {
    Duration patience = Duration.ofSeconds(3);
    try (FaultBench bench = FaultBench.withDeadline(patience)) {
      LimitRequest call = call("queue", 100_000, HOUR);
      bench.redis.suspend();
      Load crowd = Load.start(bench.limiter, List.of(call), 20_000);
      await().until(() -> reasons(crowd.answeredSoFar()).contains(FailureReason.OVERLOADED));
      List<TimedVerdict> rejected = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        rejected.addAll(Load.burst(bench.limiter, call, 1));
      }
      crowd.stopSending();
      // The event loop may be behind: what it has not looked at would find room after the resume.
      await().until(() -> crowd.unanswered() <= MOST_WAITING);
      bench.redis.resume();
      crowd.stop();

      assertFellBack(rejected, FailureReason.OVERLOADED, FailureReason.BREAKER_OPEN);
      assertThat(fromStore(rejected)).isEmpty();
      assertThat(rejected.stream().map(TimedVerdict::latency).sorted().toList().get(25))
          .as("median of the rejected")
          .isLessThan(Duration.ofMillis(5));
      bench.assertHeals();
      bench.assertRanAtMostOnce();
      assertThat(bench.executed()).as("what waited").hasSizeLessThan(MOST_WAITING + 20);
    }
  }

  @Test
  @DisplayName("F10: ten thousand calls at once while Redis is stopped")
  void aFloodIsDeniedWithoutALogLineForEachCall() {
    try (FaultBench bench = FaultBench.withDeadline(SECOND);
        RecordedLog lettuce = RecordedLog.of("io.lettuce")) {
      LimitRequest call = call("flood", 100_000, HOUR);
      bench.redis.suspend();
      Collection<TimedVerdict> flood = Load.burst(bench.limiter, call, 10_000);
      bench.redis.resume();
      bench.assertHeals();

      assertThat(reasons(flood)).contains(FailureReason.OVERLOADED);
      assertThat(lettuce.messages()).hasSizeLessThan(2);
      assertThat(reasons(Load.burst(bench.limiter, call, 4_000)))
          .as("as many may wait as before")
          .doesNotContain(FailureReason.OVERLOADED);
      bench.assertRanAtMostOnce();
    }
  }
}
