// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.LimiterBench.HEALED;
import static io.limiter.core.faults.LimiterBench.NOISE;
import static io.limiter.core.faults.LimiterBench.call;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import io.limiter.core.testing.SkewedClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The replica that is promoted has another clock than the previous primary. */
@Tag("faults")
class SkewedClockTest {

  /** Longer than a failover takes, so that units admitted by the old primary still count. */
  private static final Duration WINDOW = Duration.ofSeconds(6);

  private static final int COUNT = 20;
  private static final LimitRequest CALL = call("skewed", COUNT, WINDOW);

  /** The time between two calls, and a pause of this machine. */
  private static final Duration GRACE = Duration.ofMillis(500).multipliedBy(NOISE);

  /**
   * A key that replicas have of their own is not replicated, and remains when they are promoted.
   * The test's copy of the script adds it to the server's own clock.
   */
  private static final String OFFSET = "clock-offset";

  @ParameterizedTest(name = "F27: by {0} seconds")
  @ValueSource(ints = 5)
  void aClockThatIsAhead(int seconds) {
    promoteWithClockInScript(seconds);
  }

  @ParameterizedTest(name = "F27: by {0} seconds")
  @ValueSource(ints = -5)
  void aClockThatIsBehind(int seconds) {
    promoteWithClockInScript(seconds);
  }

  /** The unchanged script, and the times at which keys expire. */
  @ParameterizedTest(name = "F27: by {0} seconds, of the whole server")
  @ValueSource(ints = {5, -5})
  void aServerWithAnotherClock(int seconds) {
    Optional<SkewedClock> clock = SkewedClock.compile();
    assumeThat(clock).as("a C compiler, to make a library that skews a clock").isPresent();
    Duration skew = Duration.ofSeconds(seconds);
    SentinelGroup group = SentinelGroup.start(replica -> clock.get().give(replica, skew));
    try (SentinelBench bench = SentinelBench.on(group)) {
      assertPromoted(bench, seconds);
    }
  }

  private void promoteWithClockInScript(int seconds) {
    try (SentinelBench bench =
        SentinelBench.on(SentinelGroup.start(), SkewedClockTest::readingOffset)) {
      for (RedisProcess replica : bench.group.replicas()) {
        bench.admin(replica, redis -> redis.configSet("replica-read-only", "no"));
        bench.admin(replica, redis -> redis.set(OFFSET, Long.toString(seconds * 1_000_000L)));
        bench.admin(replica, redis -> redis.configSet("replica-read-only", "yes"));
      }
      assertPromoted(bench, seconds);
    }
  }

  private static String readingOffset(String script) {
    String clock = "local clock = redisTime[1] * 1000000 + redisTime[2]";
    assertThat(script).contains(clock);
    return script.replace(clock, clock + " + (call('GET', '%s') or 0)".formatted(OFFSET));
  }

  private static void assertPromoted(SentinelBench bench, int seconds) {
    List<TimedVerdict> answers = new ArrayList<>(Load.burst(bench.limiter, CALL, 2 * COUNT));
    bench.awaitReplicated();
    RedisProcess old = bench.group.primary();
    // By hand: an election may take longer than the clocks differ.
    bench.group.failOver();
    bench.group.awaitPrimaryInsteadOf(old);
    old.kill();
    bench.assertHeals();
    long promoted = System.nanoTime();
    Load load = Load.start(bench.limiter, List.of(CALL), 50);
    await()
        .atMost(WINDOW.plus(HEALED).multipliedBy(NOISE))
        .until(() -> load.answeredSoFar().stream().anyMatch(SkewedClockTest::admitted));
    Duration denied = Duration.ofNanos(System.nanoTime() - promoted);
    answers.addAll(load.stop());
    answers.addAll(Load.burst(bench.limiter, CALL, 2 * COUNT));

    assertAnsweredInTime(answers);
    // Ahead: the units of the old primary have left the window early. Behind: none has.
    assertNotOverAdmitted(answers, DecidedBy.STORE, seconds > 0 ? 2 * COUNT : COUNT, WINDOW);
    assertThat(denied).isLessThan(seconds > 0 ? GRACE : WINDOW.plus(GRACE));
    if (seconds < 0) {
      assertThat(denied).as("or this tested nothing").isGreaterThan(WINDOW.minus(GRACE));
    }
  }

  private static boolean admitted(TimedVerdict answer) {
    return answer
        .verdict()
        .filter(it -> it.decidedBy() == DecidedBy.STORE)
        .filter(Verdict::allowed)
        .isPresent();
  }
}
