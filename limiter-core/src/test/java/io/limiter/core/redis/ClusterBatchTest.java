// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.rule.BanRule;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.SlotMove;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** In a Redis Cluster, decisions of one slot share a command; also while the slot moves. */
class ClusterBatchTest {

  private static final Duration READY = Duration.ofSeconds(20);
  private static final RedisSettings SETTINGS = new RedisSettings("test:", Duration.ofSeconds(10));
  private static final Pattern CALLS = Pattern.compile("cmdstat_evalsha:calls=(\\d+),");
  private static final Pattern REJECTED =
      Pattern.compile("cmdstat_evalsha:\\S*rejected_calls=(\\d+)");
  private static final int COUNT = 1_000;

  private static ClusterGroup group;
  private static ClusterConnections connections;
  private static RedisStore store;

  @BeforeAll
  static void connect() {
    group = ClusterGroup.withoutReplicas();
    connections =
        ClusterConnections.open(group.uris().stream().map(RedisURI::create).toList(), SETTINGS);
    assertThat(connections.firstAttempt()).succeedsWithin(READY).isEqualTo(true);
    store = new RedisStore(connections, SETTINGS);
  }

  @AfterAll
  static void disconnect() {
    store.close();
    group.close();
  }

  @BeforeEach
  void clear() {
    group.servers().forEach(server -> group.admin(server).flushall());
    resetStatistics();
  }

  private static void resetStatistics() {
    group.servers().forEach(server -> group.admin(server).configResetstat());
  }

  /** EVALSHA commands that ran, or were rejected, on all nodes. */
  private static long evalsha(Pattern which) {
    return group.servers().stream()
        .map(server -> which.matcher(group.admin(server).info("commandstats")))
        .filter(Matcher::find)
        .mapToLong(found -> Long.parseLong(found.group(1)))
        .sum();
  }

  private static int slot(LimitRequest call) {
    return SlotHash.getSlot(SETTINGS.name(call.charge(0).key()));
  }

  /** Calls of different subjects, all in the slot of the first. */
  private static List<LimitRequest> neighbours(int number) {
    return neighbours(number, ClusterBatchTest::subject);
  }

  private static List<LimitRequest> neighbours(int number, IntFunction<LimitRequest> calls) {
    LimitRequest first = calls.apply(0);
    int slot = slot(first);
    return Stream.concat(
            Stream.of(first),
            IntStream.iterate(1, i -> i + 1)
                .mapToObj(calls)
                .filter(call -> slot(call) == slot)
                .limit(number - 1L))
        .toList();
  }

  private static LimitRequest subject(int number) {
    return call("subject-" + number, rule(COUNT, HOUR));
  }

  /** Two violations are a ban. */
  private static LimitRequest banning(int number) {
    return LimitRequest.of(
        Policy.of("policy", rule(COUNT, HOUR)).withBan(BanRule.of(2, HOUR, HOUR)),
        new Subject("user", "subject-" + number));
  }

  /** In one turn of the event loop of the connection to the node that has the first call's slot. */
  private static List<Verdict> together(List<LimitRequest> calls) {
    return joined(started(calls));
  }

  private static List<CompletableFuture<Verdict>> started(List<LimitRequest> calls) {
    CompletableFuture<Void> onTheLoop = new CompletableFuture<>();
    CompletableFuture<List<CompletableFuture<Verdict>>> all =
        onTheLoop.thenApply(
            now ->
                calls.stream()
                    .map(call -> store.decide(call, Mode.ACQUIRE).toCompletableFuture())
                    .toList());
    Thread caller = Thread.currentThread();
    while (!onTheLoop.isDone()) { // the reply to a PING may be here before it is waited for
      connections
          .node(slot(calls.get(0)))
          .commands()
          .ping()
          .thenAccept(
              pong -> {
                if (Thread.currentThread() != caller) {
                  onTheLoop.complete(null);
                }
              })
          .toCompletableFuture()
          .orTimeout(READY.toSeconds(), TimeUnit.SECONDS)
          .join();
    }
    return all.orTimeout(READY.toSeconds(), TimeUnit.SECONDS).join();
  }

  private static List<Verdict> joined(List<CompletableFuture<Verdict>> calls) {
    return calls.stream()
        .map(call -> call.orTimeout(READY.toSeconds(), TimeUnit.SECONDS).join())
        .toList();
  }

  private static List<Long> remaining(List<Verdict> verdicts) {
    return verdicts.stream().map(verdict -> verdict.rules().get(0).remaining()).toList();
  }

  private static List<Long> left(int number, long units) {
    return Collections.nCopies(number, COUNT - units);
  }

  @Test
  void decisionsOfOneSlotShareACommand() {
    assertThat(remaining(together(neighbours(6)))).isEqualTo(left(6, 1));
    assertThat(evalsha(CALLS)).isEqualTo(1);

    assertThat(remaining(together(Collections.nCopies(3, subject(0)))))
        .containsExactly(COUNT - 2L, COUNT - 3L, COUNT - 4L);
    assertThat(evalsha(CALLS)).isEqualTo(2);
  }

  @Test
  void decisionsOfSeveralSlotsAreSeveralCommands() {
    List<LimitRequest> calls = IntStream.range(0, 12).mapToObj(ClusterBatchTest::subject).toList();
    long slots = calls.stream().map(ClusterBatchTest::slot).distinct().count();
    assertThat(slots).isGreaterThan(3);
    List<LimitRequest> pairs = new ArrayList<>();
    calls.forEach(one -> pairs.addAll(List.of(one, one)));

    List<Verdict> verdicts = together(pairs);

    for (int i = 0; i < calls.size(); i++) {
      assertThat(remaining(verdicts.subList(2 * i, 2 * i + 2)))
          .containsExactly(COUNT - 1L, COUNT - 2L);
    }
    assertThat(evalsha(CALLS)).isBetween(slots, (long) pairs.size());
  }

  /** MOVED: each call of the batch is redirected, and counted once. */
  @Test
  void aBatchWhoseSlotHasMovedIsDecidedByTheOtherNode() {
    List<LimitRequest> calls = neighbours(6);
    assertThat(remaining(together(calls))).isEqualTo(left(6, 1));
    SlotMove move = SlotMove.of(group, slot(calls.get(0)));
    move.begin();
    move.end();
    resetStatistics();

    assertThat(remaining(together(calls))).isEqualTo(left(6, 2));

    assertThat(evalsha(CALLS)).isBetween(1L, 6L);
    assertThat(remaining(together(calls))).isEqualTo(left(6, 3));
  }

  /** ASK: no key is left where the slot was. */
  @Test
  void aBatchWhoseKeysHaveGoneIsDecidedWhereTheyAre() {
    List<LimitRequest> calls = neighbours(6);
    assertThat(remaining(together(calls))).isEqualTo(left(6, 1));
    SlotMove move = SlotMove.of(group, slot(calls.get(0)));
    move.begin();
    move.moveKeys();

    assertThat(remaining(together(calls))).isEqualTo(left(6, 2));

    move.end();
    assertThat(remaining(together(calls))).isEqualTo(left(6, 3));
  }

  /**
   * TRYAGAIN, or ASK by Redis 6: some keys are here, some there. Each call has one, so each can be
   * decided alone.
   */
  @Test
  void aBatchWhoseKeysAreOnBothSidesIsDecidedCallByCall() {
    List<LimitRequest> calls = neighbours(6);
    assertThat(remaining(together(calls.subList(0, 3)))).isEqualTo(left(3, 1));
    SlotMove move = SlotMove.of(group, slot(calls.get(0)));
    move.begin();
    resetStatistics();

    List<Verdict> verdicts = together(calls);

    assertThat(remaining(verdicts.subList(0, 3))).isEqualTo(left(3, 2));
    assertThat(remaining(verdicts.subList(3, 6))).isEqualTo(left(3, 1));
    assertThat(evalsha(CALLS)).as("each alone, where its key is").isEqualTo(6);
    assertThat(evalsha(REJECTED)).as("the batch, and the ASK of each new key").isEqualTo(4);

    move.end();
    assertThat(remaining(together(calls.subList(3, 6)))).isEqualTo(left(3, 2));
  }

  /** TRYAGAIN, also for each of them alone: a ban that does not exist is at the other node. */
  @Test
  void aBatchOfCallsWithABanIsDecidedKeyByKey() {
    List<LimitRequest> calls = neighbours(6, ClusterBatchTest::banning);
    List<LimitRequest> tooLarge = calls.stream().map(call -> call.withCost(COUNT + 1)).toList();
    assertThat(remaining(together(calls.subList(0, 3)))).isEqualTo(left(3, 1));
    SlotMove move = SlotMove.of(group, slot(calls.get(0)));
    move.begin();

    for (int units = 1; units <= 3; units++) {
      List<Verdict> verdicts = together(calls);
      assertThat(remaining(verdicts.subList(0, 3))).isEqualTo(left(3, units + 1));
      assertThat(remaining(verdicts.subList(3, 6))).isEqualTo(left(3, units));
    }
    assertThat(together(tooLarge)).extracting(Verdict::outcome).containsOnly(Outcome.LIMITED);
    assertThat(together(tooLarge)).extracting(Verdict::outcome).containsOnly(Outcome.BANNED);
    assertThat(together(calls)).extracting(Verdict::outcome).containsOnly(Outcome.BANNED);

    move.end();
    List<Verdict> banned = together(calls);
    assertThat(banned).extracting(Verdict::outcome).containsOnly(Outcome.BANNED);
    assertThat(remaining(banned.subList(0, 3))).isEqualTo(left(3, 4));
    assertThat(remaining(banned.subList(3, 6))).isEqualTo(left(3, 3));
  }

  /** A slot that goes back and forth under load: no call is counted twice, and none fails. */
  @Test
  void callsOfAMovingSlotAreCountedOnce() {
    List<LimitRequest> calls = neighbours(4);
    SlotMove move = SlotMove.of(group, slot(calls.get(0)));
    int rounds = 10;
    for (int round = 0; round < rounds; round++) {
      List<CompletableFuture<Verdict>> all = new ArrayList<>();
      move.begin();
      all.addAll(started(calls));
      move.moveKeys();
      all.addAll(started(calls));
      move.end();
      all.addAll(started(calls));
      assertThat(joined(all)).allMatch(Verdict::allowed);
      move = move.back();
    }
    assertThat(remaining(together(calls))).isEqualTo(left(4, 3L * rounds + 1));
  }
}
