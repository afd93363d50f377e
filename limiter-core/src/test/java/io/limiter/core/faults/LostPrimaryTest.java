// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertFellBack;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.LimiterBench.HEALED;
import static io.limiter.core.faults.LimiterBench.HOUR;
import static io.limiter.core.faults.LimiterBench.NOISE;
import static io.limiter.core.faults.LimiterBench.call;
import static io.limiter.core.faults.LimiterBench.calls;
import static io.limiter.core.faults.SentinelBench.outage;
import static io.limiter.core.testing.SentinelGroup.DOWN_AFTER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.Collection;
import java.util.function.Consumer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The primary is lost under load, and its sentinels name another. */
@Tag("faults")
class LostPrimaryTest {

  /** Longer than the failover, so that a window sees both primaries. */
  private static final Duration WINDOW = Duration.ofSeconds(20);

  private static final int COUNT = 200;

  /** After this time a silent peer is given up. */
  private static final Duration SILENCE = Duration.ofSeconds(3);

  /** The longest time that an attempt to connect to a silent peer takes. */
  private static final Duration HANGING = Duration.ofMillis(1_500);

  @Test
  @DisplayName("F12: the primary is killed (SIGKILL), at 500 calls a second")
  void aKilledPrimaryIsReplacedWithItsCounts() {
    lose(DOWN_AFTER, RedisProcess::kill, 500, HEALED);
  }

  @Test
  @DisplayName("F12: the primary is killed (SIGKILL), at 2,000 calls a second")
  void aKilledPrimaryIsReplacedUnderHeavyLoad() {
    lose(DOWN_AFTER, RedisProcess::kill, 2_000, HEALED);
  }

  @Test
  @DisplayName("F12: the primary falls silent (SIGSTOP) for good")
  void aSilentPrimaryIsReplacedWithItsCounts() {
    lose(DOWN_AFTER, RedisProcess::suspend, 500, SILENCE.plus(HEALED));
  }

  /** By then its connection has been given up, and attempts to open another hang. */
  @Test
  @DisplayName("F12: the primary falls silent (SIGSTOP) and is replaced six seconds later")
  void aSilentPrimaryThatIsReplacedLateIsFoundSoonAfter() {
    lose(Duration.ofSeconds(6), RedisProcess::suspend, 500, HANGING.plus(HEALED));
  }

  /**
   * @param healed within this of being named the new primary decides
   */
  private void lose(
      Duration downAfter, Consumer<RedisProcess> loss, int perSecond, Duration healed) {
    try (SentinelBench bench = SentinelBench.start()) {
      bench.group.takeForLostAfter(downAfter);
      LimitRequest kept = call("kept", 100, HOUR);
      for (int i = 0; i < 10; i++) {
        bench.ask(kept);
      }
      bench.awaitReplicated();
      Load load = Load.start(bench.limiter, calls(4, COUNT, WINDOW), perSecond);
      await().until(() -> load.answeredSoFar().size() > perSecond);
      RedisProcess lost = bench.group.primary();
      long lostAt = System.nanoTime();
      loss.accept(lost);
      bench.group.awaitPrimaryInsteadOf(lost);
      Duration elected = Duration.ofNanos(System.nanoTime() - lostAt);
      SentinelBench.assertHeals(load);
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      assertFellBack(answers, FailureReason.DISCONNECTED, FailureReason.TIMEOUT);
      assertThat(outage(answers)).isLessThan(elected.plus(healed.multipliedBy(NOISE)));
      assertNotOverAdmitted(answers, 2 * COUNT, WINDOW);
      assertThat(bench.used(kept)).as("what was replicated").isEqualTo(10);
      bench.assertNothingRanTwice();
    }
  }
}
