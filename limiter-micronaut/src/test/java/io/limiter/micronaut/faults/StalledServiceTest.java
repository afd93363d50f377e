// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import static io.limiter.core.faults.FaultBench.ANSWERED;
import static io.limiter.core.faults.FaultBench.NOISE;
import static io.limiter.core.faults.FaultBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.management.OperatingSystemMXBean;
import io.limiter.core.DecidedBy;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A whole service under steady load over HTTP, whose Redis falls silent: it continues in time, with
 * the threads and the memory that it had.
 */
@Tag("faults")
class StalledServiceTest {

  private static final Logger LOG = LoggerFactory.getLogger(StalledServiceTest.class);

  private static final Duration SECOND = Duration.ofSeconds(1);

  /** An event loop is held up for less than this. */
  private static final Duration LAG = Duration.ofMillis(50);

  private static final long MEGABYTE = 1 << 20;

  /** Of the machine's processor time, this part is for the load and what serves it. */
  private static final double LOADED = 0.25;

  /**
   * In less time one pause of the machine makes a thousandth of all that is measured, and calls
   * that wait for the deadline until the breaker opens make a hundredth.
   */
  private static final int ENOUGH_SECONDS = 30;

  /** After this the breaker is open, or the pause of a collection is made up for. */
  private static final Duration SETTLED = ANSWERED.multipliedBy(NOISE);

  /** For what happens at once, unless the machine is busy. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  /** On event loops, where the gate decides early, and on threads that wait for the guard. */
  @ParameterizedTest
  @CsvSource({
    "event-loop, early, 500, STOPPED",
    "shared, early, 500, BLACK_HOLE",
    "auto, late, 100, STOPPED",
  })
  @DisplayName("F3, F4, F33: a service, three seconds without Redis")
  void itGoesOnWithoutRedis(String connections, String route, int perSecond, Fault fault) {
    goesOn(connections, route, perSecond, fault, 3);
  }

  @ParameterizedTest
  @CsvSource({
    "event-loop, early, 1000, BLACK_HOLE, 30",
    "shared, early, 500, STOPPED, 10",
    "auto, late, 300, STOPPED, 10",
  })
  @DisplayName("F10, F33: a service, up to half a minute without Redis")
  void itGoesOnForLong(String connections, String route, int perSecond, Fault fault, int seconds) {
    goesOn(connections, route, perSecond, fault, seconds);
  }

  /**
   * @param connections as {@code limiter.redis.connections}
   * @param route of {@link LimitedService}
   * @param most requests a second; fewer, where the machine is too slow for a light load
   * @param seconds without Redis
   */
  private static void goesOn(String connections, String route, int most, Fault fault, int seconds) {
    try (LimitedService service = new LimitedService(connections);
        HttpLoad load =
            HttpLoad.start(
                service.port(),
                most / 5,
                most / (20 * LimitedService.COUNT), // each asks for more than it may have
                most / 2,
                number -> "/calls/" + route,
                (path, status, body) -> {})) {
      warmUp(service);
      int perSecond = lightLoad(most, load);
      load.continueAt(perSecond);
      Set<String> threads = LimitedService.threads();
      long heap = LimitedService.heap();
      pass(SETTLED); // the collection has held requests up

      fault.begin(service);
      Tally before = load.nextTally();
      service.hearts.nextLags();
      pass(SETTLED);
      // Some of them still have an answer that Redis gave before it fell silent.
      await().atMost(PATIENCE).until(before::complete);
      service.decisions.forget();
      Set<String> more = new HashSet<>();
      int waiting = 0;
      for (int i = 0; i < seconds; i++) {
        pass(SECOND);
        more.addAll(LimitedService.threads());
        waiting = Math.max(waiting, LimitedService.waiting().size());
      }
      more.removeAll(threads);
      Times lags = service.hearts.nextLags();
      Tally answers = load.nextTally();
      await().atMost(PATIENCE).until(answers::complete);
      LOG.info(
          "Without Redis: {}; {} a second; {}; {}; lags {}; {} threads waited",
          fault,
          perSecond,
          answers,
          service.decisions,
          lags,
          waiting);

      assertThat(service.decisions.by(DecidedBy.STORE)).as("decided by Redis").isZero();
      assertThat(service.decisions.by(DecidedBy.FALLBACK))
          .as("decided by the fallback")
          .isGreaterThan(perSecond * seconds / 2L);
      assertAllAnswered(answers, service);
      assertThat(answers.timesOnCores.percentile(90)).as("p90 of the answers").isLessThan(ANSWERED);
      assertThat(lags.percentile(99)).as("p99 of the lags").isLessThan(LAG);
      if (seconds >= ENOUGH_SECONDS) {
        assertThat(answers.timesOnCores.percentile(99))
            .as("p99 of the answers")
            .isLessThan(ANSWERED);
        assertThat(lags.percentile(99.9))
            .as("p99.9 of the lags")
            .isLessThan(LAG.multipliedBy(NOISE));
        assertThat(answers.timesOnCores.slowest())
            .as("slowest of %s", answers)
            .isLessThan(ANSWERED.multipliedBy(NOISE));
      }
      assertThat(more).as("threads that were not there before").isEmpty();
      assertThat(waiting)
          .as("threads that wait for a decision")
          .isLessThan((int) (most * ANSWERED.toMillis() / 1_000 * NOISE));
      assertThat(LimitedService.heap() - heap).as("growth of the heap").isLessThan(10 * MEGABYTE);
      pass(SECOND);

      assertHeals(service, load, fault, perSecond);
    }
  }

  private static void assertHeals(
      LimitedService service, HttpLoad load, Fault fault, int perSecond) {
    load.nextTally();
    service.decisions.forget();
    long ended = System.nanoTime();
    fault.end(service);
    await()
        .pollInterval(Duration.ofMillis(5))
        .atMost(fault.healed.multipliedBy(NOISE))
        .until(() -> service.decisions.by(DecidedBy.STORE) > 0);
    long healed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - ended);
    service.decisions.forget();
    await()
        .atMost(PATIENCE)
        .until(
            () -> service.decisions.by(DecidedBy.STORE) > 2L * perSecond); // longer than a window
    Tally answers = load.stop();
    await().atMost(PATIENCE).until(answers::complete);
    LOG.info("Redis decides again after {} ms: {}; {}", healed, answers, service.decisions);

    assertAllAnswered(answers, service);
  }

  /** Each request was answered, as its rule requires. */
  private static void assertAllAnswered(Tally answers, LimitedService service) {
    assertThat(answers.byStatus().keySet()).containsExactly(200, 429);
    assertThat(answers.strange).as("lost connections").hasValue(0);
    assertThat(service.decisions.failed()).as("decisions that failed").isZero();
  }

  /** With all that is done once: threads that Lettuce starts when it first connects again. */
  private static void warmUp(LimitedService service) {
    awaitRedis(service);
    Fault.STOPPED.begin(service);
    pass(SETTLED);
    Fault.STOPPED.end(service);
    for (int i = 0; i < 3; i++) {
      service.proxy.reset();
      service.decisions.forget();
      awaitRedis(service);
    }
  }

  /**
   * The most requests a second that leave most of the machine idle, on one that has not more to do.
   * A load that it cannot serve would be late whatever the service does.
   */
  private static int lightLoad(int most, HttpLoad load) {
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    load.nextTally();
    long before = system.getProcessCpuTime();
    pass(SECOND.multipliedBy(2));
    long nanos = system.getProcessCpuTime() - before;
    long nanosOfOne = nanos / Math.max(1, load.nextTally().times.count());
    double budget = LOADED * system.getAvailableProcessors() * SECOND.toNanos();
    return (int) Math.max(most / 10, Math.min(most, budget / nanosOfOne));
  }

  /** On a busy machine a cold JVM may need some time for the whole load. */
  private static void awaitRedis(LimitedService service) {
    await().atMost(PATIENCE).until(() -> service.decisions.by(DecidedBy.STORE) > 100);
  }
}
