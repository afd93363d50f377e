// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.StoreHarness.units;
import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertFellBack;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.FaultAssertions.fromStore;
import static io.limiter.core.faults.FaultAssertions.reasons;
import static io.limiter.core.faults.FaultBench.DEADLINE;
import static io.limiter.core.faults.FaultBench.HOUR;
import static io.limiter.core.faults.FaultBench.MANY_ATTEMPTS;
import static io.limiter.core.faults.FaultBench.call;
import static io.limiter.core.faults.FaultBench.calls;
import static io.limiter.core.faults.FaultBench.leased;
import static io.limiter.core.faults.FaultBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Connections that end, at the worst moment, repeatedly. */
@Tag("faults")
class LostConnectionTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final int COUNT = 1_000;

  @Test
  @DisplayName("F2: Redis killed under load (SIGKILL) and started again, empty")
  void aKilledRedisIsReplacedAtOnceAndTakenBackEmpty() {
    try (FaultBench bench = FaultBench.start()) {
      Load load = Load.start(bench.limiter, calls(4, 20, SECOND), 1_000);
      await().until(() -> load.answeredSoFar().size() > 200);
      bench.redis.kill();
      pass(Duration.ofMillis(300));
      Set<String> ended = new HashSet<>(bench.nonces(true));
      ended.addAll(bench.nonces(false));
      bench.redis.start();
      bench.assertHeals();
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      assertThat(reasons(answers)).contains(FailureReason.DISCONNECTED);
      List<Duration> fallbacks =
          answers.stream()
              .filter(answer -> answer.verdict().get().decidedBy() == DecidedBy.FALLBACK)
              .map(TimedVerdict::latency)
              .sorted()
              .toList();
      assertThat(fallbacks.get(fallbacks.size() * 9 / 10))
          .as("no call waits for the deadline")
          .isLessThan(DEADLINE.dividedBy(2));
      // One loss: at most the count once more.
      assertNotOverAdmitted(answers, 40, SECOND);
      List<String> executed = bench.executed();
      assertThat(OverAdmissionChecker.repeated(executed)).isEmpty();
      assertThat(executed).as("what had ended before").doesNotContainAnyElementsOf(ended);
    }
  }

  @Test
  @DisplayName("F2: Redis killed (SIGKILL) while a lease is out")
  void aLeaseIsSpentToItsEndWithoutRedisThenTheFallbackKnowsIt() {
    try (FaultBench bench = FaultBench.start()) {
      LeaseStore leases = new LeaseStore(bench.limiter);
      LimitRequest call = leased(SlidingWindowLogRule.of(COUNT, HOUR), SECOND);
      int admitted = 1;
      for (; decide(leases, call).decidedBy() != DecidedBy.LEASE; admitted++) {
        assertThat(admitted).isLessThan(200);
      }
      long spentSince = System.nanoTime();
      bench.redis.kill();
      int spent = 1;
      long sent = System.nanoTime();
      Verdict verdict = decide(leases, call);
      for (; verdict.decidedBy() == DecidedBy.LEASE; verdict = decide(leases, call)) {
        spent++;
        assertThat(Duration.ofNanos(sent - spentSince)).isLessThan(SECOND);
        pass(SECOND.dividedBy(10)); // so that some units are left at the end
        sent = System.nanoTime();
      }
      assertThat(spent).as("spent by the lease").isGreaterThan(3);
      admitted += spent - 1;
      for (; verdict.allowed(); verdict = decide(leases, call)) {
        assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
        admitted++;
      }

      long unspent = units(leases).granted() - spent;
      assertThat(unspent).isPositive();
      assertThat(admitted).isEqualTo(COUNT - unspent);
    }
  }

  private static Verdict decide(LimitStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  @Test
  @DisplayName("F6: the connection is cut after the script ran, before its reply, 20 times")
  void aCallWhoseReplyWasLostCountsOnce() {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("cut", 1_000, HOUR);
      for (int i = 1; i <= 20; i++) {
        long used = bench.used(call);
        // Each but the first records before it what memory admitted for the one before, which is
        // not known to have run.
        int records = i == 1 ? 0 : 1;
        bench.proxy.cutAfterReplies(records);
        assertThat(bench.ask(call).reason()).contains(FailureReason.DISCONNECTED);
        bench.assertHeals();
        assertThat(bench.used(call)).as("it ran").isEqualTo(used + records + 1);
      }
      assertThat(bench.proxy.accepted()).isEqualTo(21);
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F7: 64 calls in flight when the connection is cut, after 0, 3, 6 to 63 replies")
  void nothingIsReplayed() {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("in-flight", 1_000_000, HOUR);
      for (int replies = 0; replies < 64; replies += 3) {
        bench.proxy.cutAfterReplies(replies);
        Collection<TimedVerdict> answers = Load.burst(bench.limiter, call, 64);
        assertThat(answers).allMatch(answer -> answer.verdict().isPresent());
        bench.assertHeals();
      }
      bench.assertRanAtMostOnce();
      assertThat(bench.executed())
          .as("some ran unheard, or this tested nothing")
          .containsAnyElementsOf(bench.nonces(false));
    }
  }

  @Test
  @DisplayName("F8: a thousand calls while there is no connection")
  void noRejectedCommandRunsLater() {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("ghost", 1_000_000, HOUR);
      bench.proxy.rejectConnections();
      Collection<TimedVerdict> answers = Load.burst(bench.limiter, call, 1_000);
      assertThat(fromStore(answers)).isEmpty();
      assertAnsweredInTime(answers);
      bench.proxy.pass();
      bench.assertHeals();

      assertThat(bench.used(call)).isZero();
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F8: calls that time out and then lose their connection")
  void nothingThatTimedOutRunsAfterAReconnect() {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("ghost", 1_000_000, HOUR);
      bench.proxy.blackHole();
      Collection<TimedVerdict> answers = Load.burst(bench.limiter, call, 100);
      assertThat(reasons(answers)).containsExactly(FailureReason.TIMEOUT);
      bench.proxy.pass();
      bench.proxy.reset();
      bench.assertHeals();

      assertThat(bench.used(call)).isZero();
    }
  }

  /** Not a second later, as after calls that were sent and failed. */
  @Test
  @DisplayName("F8: Redis decides again with the first call after it is connected")
  void wantOfAConnectionEndsWithTheConnection() {
    try (FaultBench bench = FaultBench.withDeadline(SECOND)) {
      LimitRequest call = call("blip", 1_000_000, HOUR);
      bench.proxy.rejectConnections();
      await().until(() -> !isConnected(bench));
      assertThat(reasons(Load.burst(bench.limiter, call, 1_000)))
          .containsExactly(FailureReason.DISCONNECTED);
      bench.proxy.pass();
      await().pollInterval(Duration.ofMillis(1)).until(() -> isConnected(bench));

      assertThat(bench.ask(call).decidedBy()).isEqualTo(DecidedBy.STORE);
    }
  }

  private static boolean isConnected(FaultBench bench) {
    try {
      return bench.connection.commands() != null;
    } catch (StoreException notNow) {
      return false;
    }
  }

  @Test
  @DisplayName("F24: Redis accepts no further client")
  void theOpenConnectionIsKeptAndTheOtherIsRetriedSlowly() {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("crowd", 1_000, HOUR);
      bench.admin(redis -> redis.configSet("maxclients", "1"));
      assertThat(bench.ask(call).decidedBy()).isEqualTo(DecidedBy.STORE);

      int before = bench.proxy.accepted();
      bench.proxy.reset();
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofSeconds(2), bench.limiter, List.of(call), 100);
      assertAnsweredInTime(answers.stream().skip(10).toList());
      assertFellBack(answers, FailureReason.DISCONNECTED);
      assertThat(bench.proxy.accepted() - before)
          .as("attempts to connect")
          .isLessThan(MANY_ATTEMPTS);
      assertThat(bench.proxy.open()).isLessThanOrEqualTo(1);

      bench.admin(redis -> redis.configSet("maxclients", "100"));
      bench.assertHeals();
      assertThat(bench.proxy.open()).isEqualTo(1);
    }
  }

  @Test
  @DisplayName("F37: the connection to Redis comes and goes, for ten seconds")
  void aFlappingRedisDelaysNoCall() {
    Duration time = Duration.ofSeconds(10);
    try (FaultBench bench = FaultBench.start()) {
      bench.proxy.flap(Duration.ofMillis(500));
      Collection<TimedVerdict> answers =
          Load.during(time, bench.limiter, calls(4, 20, SECOND), 500);
      assertThat(bench.proxy.accepted())
          .as("attempts to connect")
          .isLessThan(MANY_ATTEMPTS + 2 * (int) time.toSeconds());
      bench.proxy.pass();
      bench.assertHeals();

      assertAnsweredInTime(answers);
      // A connection that is cut may lose a report of the fallback's units, a window's at most.
      assertNotOverAdmitted(answers, 2 * 20, SECOND);
      bench.assertRanAtMostOnce();
    }
  }
}
