// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.overload;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.benchmarks.overload.Simulation.Outcome;
import io.limiter.benchmarks.overload.Simulation.Setting;
import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the limit promises, and the known faults of others that it must not have. The dependency has
 * 16 places.
 */
class SimulationTest {

  private static Outcome adaptive(Setting setting) {
    return Simulation.run(setting, Algorithm.ADAPTIVE);
  }

  @ParameterizedTest
  @ValueSource(doubles = {1_600, 8_000})
  void underOverloadNearlyAllCapacityIsUsed(double load) {
    Outcome outcome = adaptive(Setting.of(load).withCritical(160 / load));
    assertThat(outcome.goodput()).isGreaterThan(0.95);
    assertThat(outcome.criticalShare()).isGreaterThan(0.999);
    assertThat(outcome.criticalP99()).isLessThan(2 * unloaded().p99());
  }

  private static Outcome unloaded() {
    return adaptive(Setting.of(80));
  }

  @Test
  void halfOfTheCapacityMayBeCritical() {
    Outcome outcome = adaptive(Setting.of(1_600).withCritical(0.25));
    assertThat(outcome.criticalShare()).isGreaterThan(0.999);
    assertThat(outcome.criticalP99()).isLessThan(2 * unloaded().p99());
  }

  @Test
  void withoutOverloadNothingIsRejected() {
    assertThat(OverloadMode.calm(60).values())
        .allSatisfy(calm -> assertThat(adaptive(calm).shed()).isLessThan(0.001));
  }

  /** concurrency-limits PR134: a term for a queue raises the limit a little in each window. */
  @Test
  void aLastingModestOverloadDoesNotRaiseTheLimit() {
    Outcome outcome = adaptive(Setting.of(1_000).withTime(0, 600));
    assertThat(outcome.meanLimit(30, 600)).isBetween(16.0, 40.0);
    assertThat(outcome.meanLimit(540, 600)).isLessThan(40);
  }

  /** concurrency-limits 165; Envoy 38338: a baseline that only grows, or stays behind. */
  @ParameterizedTest
  @ValueSource(ints = {3, 10})
  void aDependencyThatWasSlowForLongIsUsedAgainAtOnce(int factor) {
    Outcome outcome = adaptive(OverloadMode.slow(600, factor));
    assertThat(outcome.recovered(660, 720)).isBetween(0, 5);
    assertThat(outcome.meanLimit(360, 660)).as("while it is slow").isBetween(16.0, 45.0);
  }

  /**
   * Envoy 38338, where each client sends its next call after the answer: once the limit is above
   * their number, nothing is rejected, and no latency shows any more that all of them queue.
   */
  @ParameterizedTest
  @ValueSource(ints = {112, 118, 132})
  void clientsThatWaitForAnswersDoNotQueueOnAfterADependencyWasSlow(int clients) {
    Outcome outcome =
        adaptive(
            Setting.of(800)
                .withClients(clients)
                .withSlow(at -> at >= 40 && at < 80 ? 30 : 1)
                .withTime(0, 120));
    assertThat(outcome.meanLatency(90, 120)).isLessThan(2 * outcome.meanLatency(20, 40));
    List<Integer> after = outcome.goods().subList(90, 120);
    assertThat(after.stream().mapToInt(Integer::intValue).average().orElseThrow())
        .isGreaterThan(0.95 * 800);
  }

  /** The latency of the work alone is then about where the limit shrinks. */
  @ParameterizedTest
  @CsvSource({"1600, 60, 1", "780, 120, 10", "960, 120, 3", "400, 120, 3"})
  void aDependencyThatRemainsSlowerIsUsed(double load, int slowUntil, double slowBefore) {
    for (double factor : List.of(1.5, 1.6, 2.0)) {
      Setting setting =
          Setting.of(load)
              .withSlow(at -> at < 60 ? 1 : at < slowUntil ? slowBefore : factor)
              .withTime(slowUntil + 30, 150);
      double offered = Math.min(load, setting.capacity() / factor);
      assertThat(adaptive(setting).goodput() * setting.capacity())
          .as("%s times as slow", factor)
          .isGreaterThan(0.9 * offered);
    }
  }

  @Test
  void aDependencyThatBecomesSlowerAndFasterByStepsIsUsed() {
    double[] slow = {1, 2, 4, 8, 4, 2, 1};
    Outcome outcome =
        adaptive(Setting.of(960).withSlow(at -> slow[(int) at / 30 % 7]).withTime(0, 209));
    for (int step : new int[] {0, 1, 6}) { // in others many calls take too long to be good
      List<Integer> goods = outcome.goods().subList(step * 30 + 15, step * 30 + 29);
      assertThat(goods.stream().mapToInt(Integer::intValue).average().orElseThrow())
          .as("%s times as slow", slow[step])
          .isGreaterThan(0.85 * 800 / slow[step]);
    }
  }

  @Test
  void whileADependencyIsSlowItsCapacityIsUsed() {
    Outcome outcome = adaptive(OverloadMode.slow(300, 3));
    List<Integer> slow = outcome.goods().subList(120, 360);
    assertThat(slow.stream().mapToInt(Integer::intValue).average().orElseThrow())
        .isGreaterThan(0.9 * 800 / 3);
  }

  /** concurrency-limits 176: what fails at once looks like a quick instance. */
  @Test
  void failuresAtOnceAreNoEvidence() {
    Outcome outcome = adaptive(Setting.of(3_200).withFailures(0.5));
    assertThat(outcome.goodput()).isGreaterThan(0.93);
    assertThat(outcome.meanLimit(30, 90)).isBetween(16.0, 45.0);
  }

  /**
   * Envoy PR11579 and 46532, and Cinnamon's target latency: each new baseline contains the queue.
   */
  @Test
  void aLastingOverloadDoesNotRaiseTheBaseline() {
    Outcome outcome = adaptive(Setting.of(1_600).withTime(0, 1_800));
    assertThat(outcome.meanLimit(1_500, 1_800))
        .isLessThan(1.2 * outcome.meanLimit(60, 360))
        .isLessThan(40);
  }

  /** A limit of some times what is in flight would follow the queue. */
  @Test
  void anOverloadThatGrowsSlowlyDoesNotRaiseTheLimit() {
    Outcome outcome = adaptive(Setting.of(640).withLoad(at -> 640 + 3 * at).withTime(0, 120));
    assertThat(outcome.meanLimit(90, 120)).isLessThan(60);
  }

  @Test
  void anInstanceThatStartsInAnOverloadFindsItsLimit() {
    Outcome outcome = adaptive(Setting.of(1_600).withTime(0, 20));
    assertThat(outcome.meanLimit(8, 20)).isLessThan(40);
  }

  /** A tenth of the time of the mode. */
  @ParameterizedTest
  @ValueSource(doubles = {0.8, 2})
  void theLimitDoesNotDrift(double load) {
    double[] means = OverloadMode.hourly(load, 6);
    double first = Arrays.stream(means, 0, 6).average().orElseThrow();
    double last = Arrays.stream(means, 18, 24).average().orElseThrow();
    assertThat(last / first).isBetween(0.9, 1.1);
  }

  @Test
  void callersShareWhatThereIs() {
    assertThat(OverloadMode.fair(2, 600).jain()).isGreaterThan(0.95);
    assertThat(OverloadMode.fair(10, 200).admitted()).isPositive();
  }

  /**
   * A process without enough of a processor is late with all calls, as with a quota that is used
   * up. Fewer calls in flight would only leave the dependency idle.
   */
  @Test
  void aProcessThatStandsStillMostOfTheTimeKeepsItsLimit() {
    Setting still =
        Setting.of(800)
            .withDependency(16, 40, 0.3)
            .withPauses(
                DoubleStream.iterate(5, at -> at < 100, at -> at + 0.25)
                    .boxed()
                    .toArray(Double[]::new))
            .withTime(20, 70);
    Outcome outcome = adaptive(still);
    assertThat(outcome.meanLimit(20, 90)).isBetween(10.0, 40.0);
    Outcome another = Simulation.run(still, Algorithm.QUARKUS);
    assertThat(outcome.goodput()).isGreaterThan(0.85 * another.goodput());
  }

  /** The comparison is worth something only if others behave as they are known to. */
  @Test
  void theOthersShowTheirFaults() {
    Outcome gradient = Simulation.run(Setting.of(1_600).withThrash(0.01), Algorithm.GRADIENT2);
    assertThat(gradient.meanLimit(30, 90)).as("the queue of 4").isGreaterThan(60);
    Outcome fixed = Simulation.run(Setting.of(800).withDependency(2, 5, 0.5), Algorithm.FIXED);
    assertThat(fixed.goodput()).isLessThan(0.1);
  }
}
