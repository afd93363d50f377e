// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.planner.Demand.Range;
import io.limiter.planner.Logs.Call;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Demand by counting, and proposals by replays of the rule and of the next smaller one. */
class ProposalTest {

  private static final List<Duration> WINDOWS =
      List.of(Duration.ofSeconds(1), Duration.ofSeconds(10), Duration.ofMinutes(1));

  @TempDir private Path directory;

  /** Where windows begin with each call. */
  private static long demand(List<Call> calls, long windowMicros) {
    long most = 0;
    for (Call first : calls) {
      long units = 0;
      for (Call call : calls) {
        long after = call.micros() - first.micros();
        units += after >= 0 && after < windowMicros ? call.cost() : 0;
      }
      most = Math.max(most, units);
    }
    return most;
  }

  @Test
  void demandIsTheLargestOfAnyWindow() throws IOException {
    List<Call> calls = Logs.random(3, 2_000, 30, true);
    try (AccessLog log = Logs.ofUsers().windows(WINDOWS).read(Logs.csv(directory, calls))) {
      for (Demand.Window window : log.demand().windows()) {
        List<Long> all =
            Logs.bySubject(calls).values().stream()
                .map(some -> demand(some, window.window().toNanos() / 1_000))
                .sorted()
                .toList();
        assertThat(window.max()).isEqualTo(new Range(all.get(29), all.get(29)));
        assertThat(window.p50()).isEqualTo(new Range(all.get(14), all.get(14)));
        assertThat(window.p90()).isEqualTo(new Range(all.get(26), all.get(26)));
        assertThat(window.distribution().stream().mapToLong(Demand.Bar::subjects).sum())
            .isEqualTo(30);
      }
      assertThat(log.demand().windows()).extracting(Demand.Window::window).isEqualTo(WINDOWS);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aProposalIsTheSmallestThatReachesTheGoal(boolean wholeSeconds) throws IOException {
    List<Call> calls = Logs.random(11, 3_000, 60, false);
    if (wholeSeconds) {
      calls.replaceAll(c -> new Call(c.micros() / 1_000_000 * 1_000_000, c.subject(), 1, 200));
    }
    try (AccessLog log = Logs.ofUsers().windows(WINDOWS).read(Logs.csv(directory, calls))) {
      for (Goal goal : List.of(Goal.ofCalls(0.02), Goal.ofCalls(0), Goal.ofSubjects(5))) {
        List<Proposal> proposals = log.propose(goal);
        assertThat(proposals).hasSize(WINDOWS.size() * Goal.ALGORITHMS.size());
        for (Proposal one : proposals) {
          Replay.Tally tally = log.replay(List.of(one.rule())).most();
          assertThat(reaches(goal, tally)).as("%s", one).isTrue();
          assertThat(one.deniedCalls()).isEqualTo(tally.denied());
          assertThat(one.deniedSubjects()).isEqualTo(tally.deniedSubjects());
          if (one.rule().count() > 1) {
            String less =
                RuleText.of(one.rule())
                    .replaceFirst("^\\d+", String.valueOf(one.rule().count() - 1));
            assertThat(reaches(goal, log.replay(List.of(RuleText.parse(less))).most()))
                .as("%s: %s denies more", one, less)
                .isFalse();
          }
        }
      }
    }
  }

  private static boolean reaches(Goal goal, Replay.Tally tally) {
    return goal.callShare().map(share -> tally.denied() <= share * tally.calls()).orElse(true)
        && goal.subjects().map(most -> tally.deniedSubjects() <= most).orElse(true);
  }

  @Test
  void oneBusySubjectIsNamedApart() throws IOException {
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      calls.add(Call.at(i * 0.05, "bot"));
      if (i % 20 == 0) {
        calls.add(Call.at(i * 0.05, "user" + i / 20 % 10));
      }
    }
    try (AccessLog log = Logs.ofUsers().windows(WINDOWS).read(Logs.csv(directory, calls))) {
      assertThat(log.apart()).map(AccessLog.BusySubject::name).contains("bot");
      Demand.Window minute = log.demand().windows().get(2);
      assertThat(minute.apart()).isEqualTo(Optional.of(new Range(1_200, 1_200)));
      assertThat(minute.max().most()).isLessThan(10);
      Proposal first =
          log.propose(Goal.ofCalls(0)).stream()
              .filter(one -> one.window().equals(minute.window()))
              .findFirst()
              .orElseThrow();
      assertThat(first.rule().count()).isEqualTo(minute.max().most());
      assertThat(first.deniedCalls()).isZero();
      assertThat(first.deniedApart())
          .isEqualTo(log.replay(List.of(first.rule())).most().denied())
          .isGreaterThan(1_900);
      List<Proposal.Point> points = first.around(log);
      assertThat(points).isSortedAccordingTo((a, b) -> Long.compare(a.count(), b.count()));
      assertThat(points.get(points.size() - 1).deniedCalls()).isZero();
      assertThat(points.get(0).deniedCalls()).isPositive();
    }
  }

  @Test
  void aGoalIsEither() {
    assertThatThrownBy(() -> Goal.ofCalls(1.5))
        .hasMessage("The share of denied calls is 1.5: use 0 or more, and less than 1");
    assertThatThrownBy(() -> Goal.ofSubjects(-1))
        .hasMessage("The number of denied subjects is -1: use 0 or more");
    assertThatThrownBy(() -> Goal.ofSubjects(1).withAlgorithms(List.of("leaky-bucket")))
        .hasMessage(
            "The algorithm 'leaky-bucket' cannot be proposed: use some of sliding-window-log, sliding-window-counter, fixed-window, token-bucket");
  }
}
