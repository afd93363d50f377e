// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertDecidedByRedis;
import static io.limiter.core.faults.FaultAssertions.assertEachGotItsOwnReply;
import static io.limiter.core.faults.FaultAssertions.assertFellBack;
import static io.limiter.core.faults.FaultAssertions.fromStore;
import static io.limiter.core.faults.FaultAssertions.reasons;
import static io.limiter.core.faults.FaultBench.DEADLINE;
import static io.limiter.core.faults.FaultBench.HOUR;
import static io.limiter.core.faults.FaultBench.call;
import static io.limiter.core.faults.FaultBench.pass;
import static io.limiter.core.faults.FaultBench.unlikeCalls;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import java.time.Duration;
import java.util.Collection;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** F5: Redis answers slowly. */
@Tag("faults")
class SlowRedisTest {

  private static final long FEW_TURNS = 100_000;
  private static final long HALF_A_SECOND = 500_000_000;

  @Test
  @DisplayName("F5: replies come after half the deadline")
  void aReplyWithinTheDeadlineDecides() {
    try (FaultBench bench = FaultBench.withDeadline(FaultBench.PATIENT)) {
      bench.proxy.delay(FaultBench.PATIENT.dividedBy(2));
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofMillis(500), bench.limiter, unlikeCalls(5), 200);

      assertDecidedByRedis(answers);
      assertEachGotItsOwnReply(answers);
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F5: replies come after four times the deadline")
  void aLateReplyIsNotGivenToAnotherCall() {
    try (FaultBench bench = FaultBench.start()) {
      // So late that a stalled machine, for which deadlines are extended, is not as late.
      bench.proxy.delay(DEADLINE.multipliedBy(4));
      Load load = Load.start(bench.limiter, unlikeCalls(5), 200);
      pass(Duration.ofMillis(500));
      assertThat(fromStore(load.answeredSoFar())).isEmpty();
      bench.proxy.pass();
      bench.assertHeals();
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      assertEachGotItsOwnReply(answers);
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F5: replies come byte by byte")
  void aReplyThatDripsIsNoReplyUntilItIsWhole() {
    try (FaultBench bench = FaultBench.start()) {
      bench.proxy.drip(Duration.ofMillis(10));
      LimitRequest call = call("drip", 1_000, HOUR);
      Collection<TimedVerdict> answers = Load.burst(bench.limiter, call, 4);
      bench.proxy.pass();

      assertAnsweredInTime(answers);
      assertThat(reasons(answers)).containsExactly(FailureReason.TIMEOUT);
      bench.assertHeals();
      assertThat(bench.used(call)).isEqualTo(4);
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F5: a script of another client takes half a second")
  void aRedisThatIsBusyForAMomentDelaysNoCall() {
    try (FaultBench bench = FaultBench.start()) {
      Load load = Load.start(bench.limiter, unlikeCalls(5), 200);
      // Longer each time: how fast the machine is just now says little about the next moment.
      long took = 0;
      for (long turns = FEW_TURNS; took < HALF_A_SECOND; turns *= 2) {
        long from = System.nanoTime();
        long now = turns;
        bench.admin(redis -> spin(redis, now));
        took = System.nanoTime() - from;
      }
      bench.assertHeals();
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      assertFellBack(answers, FailureReason.TIMEOUT);
      assertEachGotItsOwnReply(answers);
      bench.assertRanAtMostOnce();
    }
  }

  /** Counts turns: since Redis 7.2 the time stands still while a script runs. */
  private static Object spin(RedisCommands<String, String> redis, long turns) {
    return redis.eval(
        "for i = 1, %s do redis.call('PING') end return 1".formatted(turns),
        ScriptOutputType.INTEGER);
  }
}
