// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertDecidedByRedis;
import static io.limiter.core.faults.FaultAssertions.assertFellBack;
import static io.limiter.core.faults.FaultAssertions.fromStore;
import static io.limiter.core.faults.FaultAssertions.reasons;
import static io.limiter.core.faults.FaultBench.HEALED;
import static io.limiter.core.faults.FaultBench.HOUR;
import static io.limiter.core.faults.FaultBench.MANY_ATTEMPTS;
import static io.limiter.core.faults.FaultBench.PATIENT;
import static io.limiter.core.faults.FaultBench.call;
import static io.limiter.core.faults.FaultBench.calls;
import static io.limiter.core.faults.FaultBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.redis.AuditedStore;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.testing.RedisProcess;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Redis answers with an error, and nothing ran. */
@Tag("faults")
class RefusingRedisTest {

  private static final LimitRequest CALL = call("rejected", 1_000, HOUR);

  @Test
  @DisplayName("F11: the scripts are flushed every 50 ms")
  void flushedScriptsAreSentAgainWithinTheSameCall() {
    try (FaultBench bench = FaultBench.withDeadline(PATIENT)) {
      Load load = Load.start(bench.limiter, calls(4, 1_000, HOUR), 500);
      for (int i = 0; i < 20; i++) {
        bench.admin(redis -> redis.scriptFlush());
        pass(Duration.ofMillis(50));
      }
      Collection<TimedVerdict> answers = load.stop();

      assertDecidedByRedis(answers);
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F14: READONLY, after Redis was made a replica")
  void aReplicaDecidesNothing() {
    try (FaultBench bench = FaultBench.start();
        RedisProcess primary = RedisProcess.onFreePort().start()) {
      bench.admin(redis -> redis.replicaof("127.0.0.1", primary.port()));
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofMillis(500), bench.limiter, List.of(CALL), 200);

      assertAnsweredInTime(answers);
      assertThat(fromStore(answers)).isEmpty();
      bench.admin(redis -> redis.replicaofNoOne());
      bench.assertHeals();
    }
  }

  @Test
  @DisplayName("F19: LOADING, after Redis was started with much to read")
  void aRedisThatIsLoadingDecidesNothing(@TempDir Path directory) {
    try (FaultBench bench =
        FaultBench.start(
            // While it loads, Redis answers once in two megabytes: after 400 ms or more.
            Duration.ofSeconds(2),
            "--dir",
            directory.toString(),
            "--rdbcompression",
            "no",
            "--key-load-delay",
            "2000")) {
      bench.ask(CALL);
      bench.admin(
          redis ->
              redis.eval(
                  "for i = 1, 4000 do redis.call('SET', 'junk-' .. i, string.rep('x', 10000)) end",
                  ScriptOutputType.STATUS));
      bench.admin(redis -> redis.save());
      bench.redis.kill();
      Load load = Load.start(bench.limiter, List.of(CALL), 200);
      bench.redis.start();
      int before = bench.proxy.accepted();
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> reasons(load.answeredSoFar()).contains(FailureReason.ERROR));
      bench.admin("CONFIG SET key-load-delay 0");
      bench.assertHeals();
      Collection<TimedVerdict> answers = load.stop();

      assertThat(answers).as("failed").allMatch(answer -> answer.verdict().isPresent());
      assertThat(bench.proxy.accepted() - before).as("attempts to connect").isLessThan(5);
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F20: OOM, nothing of a stack is taken")
  void aFullRedisTakesNothing() {
    try (FaultBench bench = FaultBench.start()) {
      RedisStore plain = new RedisStore(bench.connection, RedisSettings.defaults());
      LimitRequest both = call("first", 10, HOUR).and(call("second", 10, HOUR));
      assertThat(plain.decide(both, Mode.ACQUIRE)).succeedsWithin(HEALED);
      List<String> before = dump(bench, both);

      bench.admin(redis -> redis.configSet("maxmemory", "1"));
      for (int i = 0; i < 20; i++) {
        assertThat(plain.decide(both.withCost(3), Mode.ACQUIRE))
            .failsWithin(HEALED)
            .withThrowableThat()
            .havingRootCause()
            .isInstanceOfSatisfying(
                StoreException.class,
                e -> assertThat(e.reason()).isIn(FailureReason.ERROR, FailureReason.BREAKER_OPEN));
      }
      assertThat(bench.ask(both).decidedBy()).isEqualTo(DecidedBy.FALLBACK);
      assertThat(dump(bench, both)).isEqualTo(before);

      bench.admin(redis -> redis.configSet("maxmemory", "0"));
      bench.assertHeals();
      bench.assertRanAtMostOnce();
      plain.close();
    }
  }

  private static List<String> dump(FaultBench bench, LimitRequest call) {
    return call.allCharges().stream()
        .map(charge -> new String(AuditedStore.name(charge.key())))
        .map(key -> HexFormat.of().formatHex(bench.admin(redis -> redis.dump(key))))
        .toList();
  }

  @Test
  @DisplayName("F22: BUSY, another client's script does not end")
  void aRedisThatRunsSomebodyElsesScriptDecidesNothing() throws IOException {
    try (FaultBench bench = FaultBench.start("--lua-time-limit", "300")) {
      Load load = Load.start(bench.limiter, List.of(CALL), 200);
      Socket tenant = bench.type("EVAL \"while true do end\" 0");
      await().until(() -> reasons(load.answeredSoFar()).contains(FailureReason.ERROR));
      bench.admin("SCRIPT KILL");
      tenant.close();
      bench.assertHeals();
      Collection<TimedVerdict> answers = load.stop();

      assertAnsweredInTime(answers);
      assertFellBack(answers, FailureReason.TIMEOUT, FailureReason.ERROR);
      bench.assertRanAtMostOnce();
    }
  }

  /** Redis 6.2 reports every failure within a script as ERR. */
  @ParameterizedTest(name = "F23: {0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "NOPERM     | ACL SETUSER default -evalsha      | ACL SETUSER default +evalsha",
        "NOREPLICAS | CONFIG SET min-replicas-to-write 1 | CONFIG SET min-replicas-to-write 0",
        "MASTERDOWN | CONFIG SET replica-serve-stale-data no ; REPLICAOF 127.0.0.1 1 | REPLICAOF NO ONE",
      })
  void theFallbackDecidesWhatRedisDoesNotPermit(String error, String fault, String remedy) {
    try (FaultBench bench = FaultBench.start()) {
      bench.admin(fault);
      assertThat(bench.store.decide(CALL, Mode.ACQUIRE))
          .failsWithin(HEALED)
          .withThrowableThat()
          .havingRootCause()
          .isInstanceOf(StoreException.class)
          .withMessageMatching(
              "Redis answered with the error (ERR|%s)( \\(its user may not run evalsha: .*\\))?"
                  .formatted(error));
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofMillis(300), bench.limiter, List.of(CALL), 200);
      assertAnsweredInTime(answers);
      assertFellBack(answers, FailureReason.ERROR, FailureReason.BREAKER_OPEN);
      assertThat(fromStore(answers)).isEmpty();

      bench.admin(remedy);
      bench.assertHeals();
      bench.assertRanAtMostOnce();
    }
  }

  /** What memory has admitted meanwhile is reported until Redis accepts it. */
  @ParameterizedTest(name = "F23: {0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "OOM        | CONFIG SET maxmemory 1               | CONFIG SET maxmemory 0",
        "NOREPLICAS | CONFIG SET min-replicas-to-write 1   | CONFIG SET min-replicas-to-write 0",
        "NOPERM     | ACL SETUSER default -evalsha         | ACL SETUSER default +evalsha",
        "READONLY   | REPLICAOF 127.0.0.1 1                | REPLICAOF NO ONE",
        "MASTERDOWN | CONFIG SET replica-serve-stale-data no ; REPLICAOF 127.0.0.1 1 | REPLICAOF NO ONE",
      })
  void refusedWritesAdmitNoCallTwice(String error, String fault, String remedy) {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("refused", 3, HOUR);
      bench.admin(fault);
      assertThat(admitted(bench, call)).as("by memory, while %s", error).isEqualTo(3);

      bench.admin(remedy);
      bench.assertHeals();

      assertThat(admitted(bench, call)).as("by Redis afterwards").isZero();
      assertThat(bench.used(call)).isEqualTo(3);
    }
  }

  private static long admitted(FaultBench bench, LimitRequest call) {
    return IntStream.range(0, 20).filter(i -> bench.ask(call).allowed()).count();
  }

  @Test
  @DisplayName("F23: MISCONF, Redis cannot save")
  void aRedisThatCannotSaveDecidesNothing(@TempDir Path directory) throws IOException {
    try (FaultBench bench =
        FaultBench.start("--dir", directory.toString(), "--dbfilename", "taken")) {
      Files.createDirectory(directory.resolve("taken"));
      bench.admin(redis -> redis.configSet("save", "3600 1"));
      bench.admin("BGSAVE");
      await().until(() -> bench.ask(CALL).reason().equals(Optional.of(FailureReason.ERROR)));
      bench.admin("CONFIG SET stop-writes-on-bgsave-error no");
      bench.assertHeals();
      bench.assertRanAtMostOnce();
    }
  }

  @Test
  @DisplayName("F23: NOAUTH, the password was changed")
  void aRedisThatWantsAnotherPasswordIsTriedPatiently() {
    try (FaultBench bench = FaultBench.start()) {
      bench.admin(redis -> redis.configSet("requirepass", "other"));
      assertThat(bench.ask(CALL).decidedBy())
          .as("the connection that stands")
          .isEqualTo(DecidedBy.STORE);
      int before = bench.proxy.accepted();
      bench.proxy.reset();
      await().until(() -> bench.proxy.accepted() > before);
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofSeconds(2), bench.limiter, List.of(CALL), 200);
      assertAnsweredInTime(answers);
      assertFellBack(answers, FailureReason.DISCONNECTED);
      assertThat(bench.proxy.accepted() - before)
          .as("attempts to connect")
          .isLessThan(MANY_ATTEMPTS);

      bench.admin(redis -> redis.configSet("requirepass", ""));
      bench.assertHeals();
      bench.assertRanAtMostOnce();
    }
  }
}
