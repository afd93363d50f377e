// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertDecidedByRedis;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.FaultBench.HOUR;
import static io.limiter.core.faults.FaultBench.call;
import static io.limiter.core.faults.FaultBench.calls;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SlotMove;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A healthy Redis Cluster, at the start and while its slots move. */
@Tag("faults")
class ClusterTest {

  private static ClusterGroup group;

  // One for each test: the fallback of one would bring what it admitted to the next.
  private ClusterBench bench;

  @BeforeAll
  static void start() {
    group = ClusterGroup.withoutReplicas();
  }

  @AfterAll
  static void stop() {
    group.close();
  }

  @BeforeEach
  void open() {
    forget();
    bench = ClusterBench.patient(group);
  }

  @AfterEach
  void close() {
    bench.limiter.close();
  }

  private static void forget() {
    group.servers().forEach(server -> group.admin(server).flushall());
  }

  @Test
  @DisplayName("F17: Redis makes the first decisions after the start")
  void theFirstDecisionsAreNoFallbacks() {
    List<Verdict> first = calls(100, 10, HOUR).stream().map(bench::ask).toList();

    assertThat(first).extracting(Verdict::decidedBy).containsOnly(DecidedBy.STORE);
  }

  @Test
  @DisplayName("F16: a hot slot moves back and forth")
  void aSlotThatMovesFailsNoCall() {
    moveUnderLoad(2, (subject, form) -> call(subject, 100_000, HOUR));
  }

  @Test
  @DisplayName("F16: a hot slot moves back and forth, two keys a call")
  void aSlotThatMovesFailsNoCallOfTwoKeys() {
    moveUnderLoad(2, ClusterTest::submission);
  }

  @Test
  @DisplayName("F16: a hot slot moves back and forth, with a ban")
  void aSlotThatMovesFailsNoCallWithABan() {
    moveUnderLoad(2, (subject, form) -> banning(subject));
  }

  @Test
  @DisplayName("F16: a hot slot moves back and forth, for long")
  void aSlotThatMovesForLongFailsNoCall() {
    moveUnderLoad(10, (subject, form) -> call(subject, 100_000, HOUR));
    forget();
    moveUnderLoad(10, ClusterTest::submission);
    forget();
    moveUnderLoad(10, (subject, form) -> banning(subject));
  }

  /**
   * New subjects arrive while the slot moves: each call of the load is in turn a subject's first.
   */
  private void moveUnderLoad(int times, BiFunction<String, String, LimitRequest> kind) {
    int slot = ClusterBench.slot(call("somebody", 1, HOUR));
    List<String> subjects = ClusterBench.subjectsIn(slot, 8);
    List<LimitRequest> counted =
        subjects.stream().map(subject -> call(subject, 100_000, HOUR)).toList();
    List<LimitRequest> calls = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      for (String subject : subjects) {
        calls.add(kind.apply(subject, "form-" + i));
      }
    }
    SlotMove move = SlotMove.of(group, slot);
    Load load = Load.start(bench.limiter, calls, 400);
    for (int i = 0; i < times; i++) {
      move.begin();
      FaultBench.pass(Duration.ofMillis(200));
      move.moveKeys();
      FaultBench.pass(Duration.ofMillis(200));
      move.end();
      FaultBench.pass(Duration.ofMillis(100));
      move = move.back();
    }
    Collection<TimedVerdict> answers = load.stop();

    assertDecidedByRedis(answers);
    Map<String, Long> admitted = admitted(answers, DecidedBy.STORE);
    long unanswered = answers.size() - FaultAssertions.fromStore(answers).size();
    for (LimitRequest call : counted) {
      long here = admitted.getOrDefault(call.charge(0).key().tag(), 0L);
      assertThat(bench.used(call).get(0)).isBetween(here, here + unanswered);
    }
  }

  private static LimitRequest banning(String subject) {
    return LimitRequest.of(
        Policy.of("calls", SlidingWindowLogRule.of(100_000, HOUR))
            .withBan(BanRule.of(5, HOUR, HOUR)),
        new Subject("user", subject));
  }

  private static LimitRequest submission(String subject, String form) {
    return LimitRequest.of(
        Policy.of("calls", SlidingWindowLogRule.of(100_000, HOUR))
            .withDuplicates(SlidingWindowLogRule.of(1, HOUR)),
        new Subject("user", subject),
        Optional.of(form));
  }

  @Test
  @DisplayName("a call of two subjects takes from both or from none")
  void theUnitsOfADeniedCallAreGivenBack() {
    LimitRequest everybody =
        LimitRequest.of(
            Policy.of("everybody", SlidingWindowLogRule.of(300, HOUR)), Subject.global());
    List<LimitRequest> users = calls(40, 10, HOUR);
    Load load =
        Load.start(bench.limiter, users.stream().map(user -> user.and(everybody)).toList(), 800);
    await().until(() -> load.answeredSoFar().size() > 1_000);
    Collection<TimedVerdict> answers = load.stop();

    assertDecidedByRedis(answers);
    assertNotOverAdmitted(answers, DecidedBy.STORE, 10, HOUR);
    Map<String, Long> admitted = admitted(answers, DecidedBy.STORE);
    long all = admitted.values().stream().mapToLong(Long::longValue).sum();
    long unanswered = answers.size() - FaultAssertions.fromStore(answers).size();
    assertThat(all).isBetween(300 - unanswered, 300L);
    assertThat(bench.used(everybody)).containsExactly(300L);
    for (LimitRequest user : users) {
      long here = admitted.getOrDefault(user.charge(0).key().tag(), 0L);
      // A denial whose deadline ends does not wait for what it gives back.
      await()
          .untilAsserted(
              () -> assertThat(bench.used(user).get(0)).isBetween(here, here + unanswered));
    }
  }

  @Test
  @DisplayName("a primary that joins is connected to before it has slots")
  void aNewPrimaryIsWarmBeforeItHasSlots() {
    RedisProcess joined = group.join();
    await()
        .atMost(Duration.ofSeconds(10))
        .until(() -> group.admin(joined).clientList().lines().count() > 1);
    LimitRequest call = call("joined", 100_000, HOUR);
    int slot = ClusterBench.slot(call);
    SlotMove move = new SlotMove(group, slot, group.owner(slot), joined);
    Load load = Load.start(bench.limiter, List.of(call), 200);
    move.begin();
    move.end();
    await().until(() -> load.answeredSoFar().size() > 100);
    Collection<TimedVerdict> answers = load.stop();

    assertDecidedByRedis(answers);
    long decided = FaultAssertions.fromStore(answers).size();
    assertThat(bench.used(call).get(0)).isBetween(decided, (long) answers.size());
  }

  private static Map<String, Long> admitted(Collection<TimedVerdict> answers, DecidedBy source) {
    return answers.stream()
        .filter(answer -> answer.verdict().filter(Verdict::allowed).isPresent())
        .filter(answer -> answer.verdict().get().decidedBy() == source)
        .collect(Collectors.groupingBy(TimedVerdict::subject, Collectors.counting()));
  }
}
