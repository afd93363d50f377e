// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.planner.Logs.Call;
import io.limiter.planner.Replay.Slot;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A replay of subjects one after another is that of the service, which sees them interleaved. */
class ReplayTest {

  @TempDir private Path directory;

  static Stream<List<String>> stacks() {
    return Stream.of(
        List.of("5/10s"),
        List.of("5/10s", "20/1m"),
        List.of("4/10s:sliding-window-counter"),
        List.of("4/10s:fixed-window"),
        List.of("4/10s:fixed-window,zone=UTC"),
        List.of("4/10s:token-bucket"),
        List.of("4/10s:token-bucket,refill=2"),
        List.of("1/3s:leaky-bucket,queue=2,max-wait=6s"),
        List.of("8/10s", "20/1m:token-bucket", "9/10s:fixed-window", "30/1m:counter"));
  }

  /** What one store with all subjects decides, in the order of the log. */
  private static long[] interleaved(ReplayedRules rules, List<Call> calls) {
    long[] clock = new long[1];
    MemoryStore store = new MemoryStore(1_000, () -> clock[0]);
    Policy policy = new Policy("p", "p", List.of(rules.stack()), Optional.empty());
    long denied = 0;
    Set<String> subjects = new HashSet<>();
    for (Call call : calls) {
      clock[0] = AccessLog.micros(Logs.START) + call.micros();
      LimitRequest request =
          LimitRequest.of(policy, new Subject("user", call.subject())).withCost(call.cost());
      Verdict verdict = store.decide(request, Mode.ACQUIRE).toCompletableFuture().join();
      if (verdict.allowed()) {
        verdict
            .reservation()
            .settle(call.status() >= 400 ? Completion.failed() : Completion.succeeded());
      } else {
        denied++;
        subjects.add(call.subject());
      }
    }
    return new long[] {denied, subjects.size()};
  }

  private static long[] of(Replay replay) {
    assertThat(replay.least()).isSameAs(replay.most());
    return new long[] {replay.most().denied(), replay.most().deniedSubjects()};
  }

  @ParameterizedTest
  @MethodSource("stacks")
  void deniesWhatTheServiceWould(List<String> written) throws IOException {
    List<Rule> rules = written.stream().map(RuleText::parse).toList();
    List<Call> calls = Logs.random(written.hashCode(), 3_000, 40, true);
    try (AccessLog log = Logs.ofUsers().read(Logs.csv(directory, calls))) {
      List<ReplayedRules> all = new ArrayList<>();
      all.add(ReplayedRules.of(rules));
      all.add(new ReplayedRules(rules, Optional.of(RuleText.parseBan("3/1m/30s")), Counting.ALL));
      if (rules.stream().noneMatch(Rule::waits)) {
        all.add(new ReplayedRules(rules, Optional.empty(), Counting.FAILURES));
        all.add(new ReplayedRules(rules, Optional.empty(), Counting.SUCCESSES));
      }
      for (ReplayedRules some : all) {
        long[] expected = interleaved(some, calls);
        assertThat(expected[0]).as("%s", some).isPositive();
        assertThat(of(log.replay(some))).as("%s", some).isEqualTo(expected);
      }
    }
  }

  /** Parts that are divided, and subjects that are merged from sorted runs. */
  @ParameterizedTest
  @ValueSource(ints = {7, 100, 2_000})
  void isTheSameWhateverFitsIntoMemory(int maxInMemory) throws IOException {
    List<Call> calls = Logs.random(4, 3_000, 40, true);
    List<Call> shuffled = new ArrayList<>(calls);
    java.util.Collections.shuffle(shuffled, new Random(5));
    // Of the same time the order is that of the log: leave none.
    assertThat(calls.stream().map(Call::micros).distinct().count()).isGreaterThan(2_990);
    List<Rule> rules = List.of(RuleText.parse("5/10s"));
    long[] expected = interleaved(ReplayedRules.of(rules), calls);
    List<Demand> demands = new ArrayList<>();
    for (List<Call> some : List.of(calls, shuffled)) {
      try (AccessLog log =
          Logs.ofUsers().maxInMemory(maxInMemory).read(Logs.csv(directory, some))) {
        assertThat(of(log.replay(rules))).isEqualTo(expected);
        demands.add(log.demand());
      }
    }
    try (AccessLog log = Logs.ofUsers().read(Logs.csv(directory, calls))) {
      assertThat(demands).containsOnly(log.demand());
    }
  }

  /** The log has only full seconds; the calls came in between. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void theBoundsOfFullSecondsHold(long seed) throws IOException {
    List<Call> calls = Logs.random(seed, 2_000, 10, false);
    List<Call> cut = new ArrayList<>();
    for (Call call : calls) {
      cut.add(new Call(call.micros() / 1_000_000 * 1_000_000, call.subject(), 1, 200));
    }
    try (AccessLog log = Logs.ofUsers().read(Logs.csv(directory, cut))) {
      assertThat(log.summary().wholeSeconds()).isTrue();
      for (String rule :
          List.of(
              "5/10s",
              "2/1s",
              "1/500ms",
              "8/10s:token-bucket",
              "3/1s:token-bucket",
              "9/10s:token-bucket,refill=4")) {
        ReplayedRules rules = ReplayedRules.of(List.of(RuleText.parse(rule)));
        Replay replay = log.replay(rules);
        assertThat(replay.certain()).isTrue();
        long denied = interleaved(rules, calls)[0];
        assertThat(denied).as(rule).isBetween(replay.least().denied(), replay.most().denied());
      }
      Replay aligned = log.replay(List.of(RuleText.parse("5/10s:fixed-window,zone=UTC")));
      assertThat(aligned.least().denied())
          .as("windows of whole seconds are known exactly")
          .isEqualTo(aligned.most().denied())
          .isEqualTo(interleaved(aligned.rules(), calls)[0]);
      assertThat(log.replay(List.of(RuleText.parse("5/10s:counter"))).certain()).isFalse();
    }
  }

  @Test
  void saysWhoWhenAndForHowLong() throws IOException {
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      calls.add(Call.at(i * 0.1, "ann"));
    }
    calls.add(Call.at(90.5, "bob"));
    calls.add(Call.at(90.6, "bob"));
    calls.add(Call.at(90.7, "bob"));
    try (AccessLog log = Logs.ofUsers().read(Logs.csv(directory, calls))) {
      Replay.Tally tally = log.replay(List.of(RuleText.parse("2/1m"))).most();
      assertThat(tally.denied()).isEqualTo(9);
      assertThat(tally.share()).isEqualTo(9 / 13.0);
      assertThat(tally.counted()).isEqualTo(4);
      assertThat(tally.longestWait()).isEqualTo(Duration.ofMillis(59_800));
      assertThat(tally.deniedByRule()).containsOnly(java.util.Map.entry("2-per-60s", 9L));
      assertThat(tally.top())
          .containsExactly(
              new Replay.DeniedSubject("ann", 10, 8), new Replay.DeniedSubject("bob", 3, 1));
      assertThat(tally.slot()).isEqualTo(Duration.ofMinutes(1));
      assertThat(tally.overTime())
          .containsExactly(new Slot(Logs.START, 10, 8), new Slot(Logs.START.plusSeconds(60), 3, 1));
      assertThat(tally.redis()).isEqualTo(new Replay.RedisLoad(13, 10, 1, 216 + 2 * 10));
      assertThat(
              log.replay(List.of(RuleText.parse("1/1s:leaky-bucket,queue=2")))
                  .most()
                  .longestDelay())
          .isEqualTo(Duration.ofMillis(1_800));
    }
  }

  @Test
  void aCallMayCostMoreThanARuleAdmits() throws IOException {
    Path file =
        Logs.csv(directory, List.of(new Call(1, "ann", 7, 200), new Call(2, "ann", 2, 200)));
    try (AccessLog log = Logs.ofUsers().read(file)) {
      Replay.Tally tally = log.replay(List.of(RuleText.parse("5/1m"))).most();
      assertThat(tally.denied()).isEqualTo(1);
      assertThat(tally.neverAdmitted()).isEqualTo(1);
    }
  }

  @Test
  void callsInFlightCannotBeReplayed() {
    assertThatThrownBy(
            () -> ReplayedRules.of(List.of(ConcurrencyLimitRule.of(3, Duration.ofSeconds(30)))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("counts calls in flight, whose ends a log does not have");
  }
}
