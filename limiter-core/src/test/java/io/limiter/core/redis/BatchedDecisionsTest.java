// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.testing.RedisProcess;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Decisions that meet in one turn of an event loop share a command, and nothing else. */
class BatchedDecisionsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Duration DEADLINE = Duration.ofSeconds(5);
  private static final Pattern EVALSHA = Pattern.compile("cmdstat_evalsha:calls=(\\d+),");

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = (EventLoop) group.iterator().next();
  private final RedisClient client = RedisClient.create(redis.uri());
  private final StatefulRedisConnection<String, String> connection = client.connect();
  private final RedisCommands<String, String> admin = connection.sync();
  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable one : opened) {
      one.close();
    }
    client.shutdown(Duration.ZERO, PATIENCE);
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    redis.close();
  }

  private RedisStore store() {
    return store(new RedisSettings(RedisSettings.DEFAULT_PREFIX, DEADLINE));
  }

  private RedisStore store(RedisSettings settings) {
    RedisStore store = new RedisStore(connections(settings), settings);
    opened.add(store);
    return store;
  }

  private LoopConnections connections(RedisSettings settings) {
    LoopConnections connections =
        LoopConnections.open(List.of(loop), RedisURI.create(redis.uri()), settings);
    opened.add(connections);
    assertThat(connections.firstAttempt().toCompletableFuture())
        .succeedsWithin(PATIENCE)
        .isEqualTo(true);
    admin.configResetstat();
    return connections;
  }

  /** In one turn of the event loop. */
  private List<CompletableFuture<Verdict>> together(RedisStore store, List<LimitRequest> calls) {
    return inOneTurn(calls, call -> store.decide(call, Mode.ACQUIRE).toCompletableFuture());
  }

  private <T, R> List<R> inOneTurn(List<T> items, Function<T, R> action) {
    CompletableFuture<List<R>> results = new CompletableFuture<>();
    loop.execute(() -> results.complete(items.stream().map(action).toList()));
    return results.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
  }

  private static List<Verdict> joined(List<CompletableFuture<Verdict>> calls) {
    return calls.stream()
        .map(call -> call.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join())
        .toList();
  }

  private static List<LimitRequest> subjects(int number) {
    return IntStream.range(0, number)
        .mapToObj(i -> call("subject-" + i, rule(100, HOUR), rule(10, HOUR)))
        .toList();
  }

  private long evalsha() {
    Matcher found = EVALSHA.matcher(admin.info("commandstats"));
    return found.find() ? Long.parseLong(found.group(1)) : 0;
  }

  @Test
  void decisionsOfOneTurnShareACommand() {
    RedisStore store = store();

    List<Verdict> verdicts = joined(together(store, subjects(16)));

    assertThat(verdicts).hasSize(16).allMatch(Verdict::allowed);
    assertThat(verdicts)
        .allSatisfy(verdict -> assertThat(verdict.rules().get(1).remaining()).isEqualTo(9));
    assertThat(evalsha()).isEqualTo(1);
  }

  @Test
  void aDecisionAloneIsSentAlone() {
    RedisStore store = store();
    for (LimitRequest call : subjects(3)) {
      assertThat(joined(together(store, List.of(call))).get(0).allowed()).isTrue();
    }
    assertThat(evalsha()).isEqualTo(3);
  }

  @Test
  void theBatchSizeBoundsThem() {
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, DEADLINE);
    RedisStore store = store(settings.withBatchSize(4));
    assertThat(joined(together(store, subjects(10)))).allMatch(Verdict::allowed);
    assertThat(evalsha()).isEqualTo(3);

    RedisStore alone = store(settings.withBatchSize(1));
    assertThat(joined(together(alone, subjects(10)))).allMatch(Verdict::allowed);
    assertThat(evalsha()).isEqualTo(10);
  }

  /** Decisions that take long count for more. */
  @Test
  void aBatchTakesABoundedTime() {
    RedisStore store = store();
    List<LimitRequest> longer =
        IntStream.range(0, 16)
            .mapToObj(
                i ->
                    call(
                        "long-" + i,
                        rule(10_000, HOUR),
                        FixedWindowRule.of(1_000, HOUR),
                        TokenBucketRule.of(1_000, 1, HOUR),
                        FixedWindowRule.of(2_000, HOUR.multipliedBy(2))))
            .toList();
    assertThat(joined(together(store, longer))).allMatch(Verdict::allowed);
    assertThat(evalsha()).isBetween(2L, 15L);

    admin.configResetstat();
    assertThat(
            joined(
                together(
                    store,
                    List.of(call("dear", rule(10_000, HOUR)).withCost(9_000), longer.get(1)))))
        .allMatch(Verdict::allowed);
    assertThat(evalsha()).isEqualTo(2);
  }

  @Test
  void manyThreadsAdmitExactlyTheCount() {
    RedisStore store = store();
    LimitRequest call = call("crowd", rule(5_000, HOUR));
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Boolean> admitted = new ArrayList<>();
      for (int wave = 0; wave < 3; wave++) { // each is less than may wait for a reply
        List<CompletableFuture<List<CompletableFuture<Verdict>>>> asked =
            IntStream.range(0, 8)
                .mapToObj(
                    thread -> CompletableFuture.supplyAsync(() -> ask(store, call, 250), threads))
                .toList();
        for (var some : asked) {
          joined(some.join()).forEach(verdict -> admitted.add(verdict.allowed()));
        }
      }
      assertThat(admitted).hasSize(6_000);
      assertThat(admitted.stream().filter(one -> one)).hasSize(5_000);
      assertThat(evalsha()).as("commands").isLessThan(4_000);
    } finally {
      threads.shutdownNow();
    }
  }

  private static List<CompletableFuture<Verdict>> ask(
      RedisStore store, LimitRequest call, int times) {
    return Stream.generate(() -> store.decide(call, Mode.ACQUIRE).toCompletableFuture())
        .limit(times)
        .toList();
  }

  private static FailureReason reason(Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return ((StoreException) cause).reason();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 3, 15})
  void aBrokenKeyFailsOnlyItsCall(int broken) {
    RedisStore store = store();
    List<LimitRequest> calls = subjects(16);
    String key = name(calls.get(broken));
    admin.lpush(key, "x");

    List<CompletableFuture<Verdict>> all = together(store, calls);

    for (int i = 0; i < all.size(); i++) {
      if (i == broken) {
        assertThat(all.get(i))
            .failsWithin(PATIENCE)
            .withThrowableThat()
            .havingRootCause()
            .withMessageContaining("WRONGTYPE");
      } else {
        assertThat(all.get(i)).succeedsWithin(PATIENCE).matches(Verdict::allowed);
      }
    }
    assertThat(evalsha()).isEqualTo(1);
    // The connection is in step.
    assertThat(joined(together(store, subjects(18).subList(16, 18)))).allMatch(Verdict::allowed);
  }

  /** The others of the command are decided by it; the one with the wrong periods is sent again. */
  @Test
  void aCallWhosePeriodsAreThoseOfAnotherClockIsDecidedAlone() {
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, DEADLINE);
    RedisStore store =
        new RedisStore(
            connections(settings),
            settings,
            DecisionScripts.load(),
            new NodeBreakers(),
            () -> System.currentTimeMillis() * 1_000 - Duration.ofDays(40).toNanos() / 1_000);
    opened.add(store);
    List<LimitRequest> calls = new ArrayList<>(subjects(3));
    calls.add(call("daily", FixedWindowRule.aligned(3, CalendarPeriod.DAY, ZoneId.of("UTC"))));
    calls.add(call("last", rule(100, HOUR)));
    assertThat(joined(together(store, calls)))
        .allSatisfy(verdict -> assertThat(verdict.allowed()).isTrue());
    calls.forEach(one -> assertThat(admin.exists(name(one))).isEqualTo(1));
    assertThat(joined(together(store, List.of(calls.get(3)))).get(0).rules().get(0).remaining())
        .isEqualTo(1);
  }

  /** Redis rejects each first write; no call of the batch takes a unit. */
  @Test
  void withoutMemoryEachCallFails() {
    RedisStore store = store();
    admin.set("filler", "x".repeat(2_000_000));
    admin.configSet("maxmemory", "1000000");
    admin.configSet("maxmemory-policy", "noeviction");
    List<LimitRequest> calls = subjects(4);
    List<CompletableFuture<Verdict>> all = together(store, calls);
    assertThat(all)
        .allSatisfy(
            one ->
                assertThat(one)
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .havingRootCause()
                    .withMessageContaining("OOM"));
    admin.configSet("maxmemory", "0");
    calls.forEach(one -> assertThat(admin.exists(name(one))).isZero());
  }

  private static String name(LimitRequest call) {
    return new String(
        RedisSettings.defaults().name(call.charge(0).key()), StandardCharsets.US_ASCII);
  }

  @Test
  void eachCallOfABatchHasItsOwnDeadline() {
    RedisSettings settings =
        new RedisSettings(RedisSettings.DEFAULT_PREFIX, DEADLINE)
            .withPolicyDeadlines(Map.of("hasty", Duration.ofMillis(40)));
    RedisStore store = store(settings);
    LimitRequest patient = call("patient", rule(10, HOUR));
    LimitRequest hasty =
        LimitRequest.of(Policy.of("hasty", rule(10, HOUR)), new Subject("user", "hasty"));
    assertThat(joined(together(store, List.of(patient, hasty)))).allMatch(Verdict::allowed);

    redis.suspend();
    List<CompletableFuture<Verdict>> all = together(store, List.of(patient, hasty, patient));
    assertThat(all.get(1))
        .failsWithin(PATIENCE)
        .withThrowableThat()
        .satisfies(
            failure -> assertThat(reason(failure.getCause())).isEqualTo(FailureReason.TIMEOUT));
    assertThat(all.get(0)).isNotDone();
    StoreException late =
        (StoreException) all.get(1).handle((verdict, why) -> why.getCause()).join();
    redis.resume();

    assertThat(joined(List.of(all.get(0), all.get(2)))).allMatch(Verdict::allowed);
    // The late reply is knowledge: the call was counted.
    assertThat(late.late().orElseThrow().toCompletableFuture())
        .succeedsWithin(PATIENCE)
        .satisfies(verdict -> assertThat(verdict.rules().get(0).remaining()).isEqualTo(8));
    assertThat(evalsha()).isEqualTo(2);
  }

  @Test
  void aCallThatIsWithdrawnBeforeItIsWrittenNeverRuns() {
    RedisSettings settings =
        new RedisSettings(RedisSettings.DEFAULT_PREFIX, Duration.ofMillis(50))
            .withHardDeadline(Duration.ofMillis(300));
    RedisStore store = store(settings);
    LimitRequest call = call("withdrawn", rule(10, HOUR));
    CompletableFuture<Void> free = new CompletableFuture<>();
    CompletableFuture<Void> standing = new CompletableFuture<>();
    loop.execute(
        () -> {
          standing.complete(null);
          long end = System.nanoTime() + Duration.ofMillis(900).toNanos();
          long now = end;
          do { // busy: the blocking check would detect a waiting thread
            now = System.nanoTime();
          } while (now - end < 0);
          free.complete(null);
        });
    standing.join();
    List<CompletableFuture<Verdict>> calls =
        Stream.generate(() -> store.decide(call, Mode.ACQUIRE).toCompletableFuture())
            .limit(8)
            .toList();

    assertThat(calls)
        .allSatisfy(
            one ->
                assertThat(one)
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .satisfies(
                        failure ->
                            assertThat(reason(failure.getCause()))
                                .isEqualTo(FailureReason.PROCESS_LATE)));
    assertThat(free).succeedsWithin(PATIENCE);
    assertThat(joined(together(store, List.of(call))).get(0).rules().get(0).remaining())
        .isEqualTo(9);
  }

  /** Redis forgets its scripts several times under load; each call is counted once. */
  @Test
  void lostScriptsAreLoadedAgainAndEachCallIsCountedOnce() {
    RedisStore store = store();
    LimitRequest call = call("lost", rule(100_000, HOUR));
    int rounds = 60;
    for (int i = 0; i < rounds; i++) {
      List<CompletableFuture<Verdict>> all = new ArrayList<>();
      for (int batch = 0; batch < 4; batch++) {
        all.addAll(together(store, Collections.nCopies(8, call)));
      }
      if (i % 5 == 0) {
        admin.scriptFlush();
      }
      assertThat(joined(all)).allMatch(Verdict::allowed);
    }
    assertThat(remaining(store, call)).isEqualTo(100_000 - rounds * 32);

    admin.configResetstat();
    assertThat(joined(together(store, Collections.nCopies(8, call)))).allMatch(Verdict::allowed);
    assertThat(evalsha()).as("they share a command again").isEqualTo(1);
  }

  private long remaining(RedisStore store, LimitRequest call) {
    CompletableFuture<Verdict> peek =
        inOneTurn(List.of(call), one -> store.decide(one, Mode.PEEK).toCompletableFuture()).get(0);
    return joined(List.of(peek)).get(0).rules().get(0).remaining();
  }

  /** Each call that was on its way when the connection broke ends, and none is sent again. */
  @Test
  void aLostConnectionEndsAllCallsOfABatch() {
    RedisStore store = store();
    redis.suspend();
    List<CompletableFuture<Verdict>> all = together(store, subjects(8));
    redis.kill();

    assertThat(all)
        .allSatisfy(
            one ->
                assertThat(one)
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .satisfies(
                        failure ->
                            assertThat(reason(failure.getCause()))
                                .isEqualTo(FailureReason.DISCONNECTED)));
  }

  /** Redis closes the connection several times under load; no call is counted twice. */
  @Test
  void callsOnALostConnectionAreCountedOnceAtMost() {
    RedisStore store = store();
    LimitRequest call = call("cut", rule(100_000, HOUR));
    long admitted = 0;
    long failed = 0;
    for (int i = 0; i < 40; i++) {
      List<CompletableFuture<Verdict>> all = new ArrayList<>();
      for (int batch = 0; batch < 4; batch++) {
        all.addAll(together(store, Collections.nCopies(8, call)));
      }
      if (i % 8 == 7) { // calls before the first cut are decided, though the breaker opens
        admin.clientKill(KillArgs.Builder.typeNormal().skipme());
      }
      for (CompletableFuture<Verdict> one : all) {
        boolean decided =
            one.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .handle((verdict, failure) -> failure == null)
                .join();
        admitted += decided ? 1 : 0;
        failed += decided ? 0 : 1;
      }
    }
    await().atMost(PATIENCE).ignoreExceptions().until(() -> remaining(store, call) >= 0);
    assertThat(100_000 - remaining(store, call)).isBetween(admitted, admitted + failed);
    assertThat(admitted).isPositive();
  }

  @Test
  void callsThatBringPastUnitsGoAlone() {
    RedisStore store = store();
    LimitRequest call = call("past", rule(20, HOUR));
    LimitRequest bringing =
        call.after(List.of(new PastCharge(call.withCost(4).charge(0), Duration.ofSeconds(1))));

    List<Verdict> verdicts = joined(together(store, List.of(call, call, bringing, call, call)));

    assertThat(verdicts)
        .extracting(verdict -> verdict.rules().get(0).remaining())
        .containsExactly(19L, 18L, 13L, 12L, 11L);
    assertThat(evalsha()).isEqualTo(3);
  }

  @Test
  void otherModesShareACommandToo() {
    RedisStore store = store();
    LimitRequest call = call("modes", rule(2, HOUR));
    List<Verdict> verdicts =
        joined(
            inOneTurn(
                List.of(Mode.ACQUIRE, Mode.PEEK, Mode.RECORD, Mode.RECORD, Mode.PEEK),
                mode -> store.decide(call, mode).toCompletableFuture()));
    assertThat(verdicts)
        .extracting(verdict -> verdict.rules().get(0).remaining())
        .containsExactly(1L, 1L, 0L, 0L, 0L);
    assertThat(evalsha()).isEqualTo(1);
  }

  /** A reset is written after the decisions of its turn that were asked for before it. */
  @Test
  void otherCommandsKeepTheirOrder() {
    RedisStore store = store();
    LimitRequest call = call("order", rule(9, HOUR));
    var loaded = store.reset(List.of(call.charge(0).key())); // Redis has its script from now on
    assertThat(loaded).succeedsWithin(PATIENCE);
    CompletableFuture<Verdict> last = new CompletableFuture<>();
    loop.execute(
        () -> {
          for (int i = 0; i < 3; i++) {
            var unused = store.decide(call, Mode.ACQUIRE);
          }
          var unusedReset = store.reset(List.of(call.charge(0).key()));
          store
              .decide(call, Mode.ACQUIRE)
              .whenComplete((verdict, failure) -> last.complete(verdict));
        });
    assertThat(last)
        .succeedsWithin(PATIENCE)
        .satisfies(verdict -> assertThat(verdict.rules().get(0).remaining()).isEqualTo(8));
  }

  @ParameterizedTest
  @CsvSource({"0", "17", "-1"})
  void aBatchSizeOutOfItsBoundsIsRejected(int size) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RedisSettings.defaults().withBatchSize(size))
        .withMessage("The batch size %s is invalid: use 1 to 16".formatted(size));
  }
}
