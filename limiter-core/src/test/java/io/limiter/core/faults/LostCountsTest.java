// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertDecidedByRedis;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.FaultBench.HOUR;
import static io.limiter.core.faults.FaultBench.call;
import static io.limiter.core.faults.FaultBench.calls;
import static io.limiter.core.faults.FaultBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.core.redis.AuditedStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Counts are lost, or overwritten by another client. */
@Tag("faults")
class LostCountsTest {

  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  @DisplayName("F21: keys are evicted")
  void anEvictedKeyGivesOneCountMore() {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("evicted", 5, HOUR);
      assertThat(admittedOf(bench, call, 10)).isEqualTo(5);
      bench.admin("CONFIG SET maxmemory-policy allkeys-lru");
      bench.admin("CONFIG SET maxmemory 1");
      String key = new String(AuditedStore.name(call.charge(0).key()));
      await()
          .until(
              () ->
                  bench.ask(call).reason().isPresent()
                      && bench.admin(redis -> redis.exists(key)) == 0);
      bench.admin("CONFIG SET maxmemory 0");
      bench.assertHeals();

      assertThat(admittedOf(bench, call, 10)).isEqualTo(5);
    }
  }

  @Test
  @DisplayName("F28: FLUSHALL under load")
  void eachFlushGivesOneCountMore() {
    try (FaultBench bench = FaultBench.withDeadline(FaultBench.PATIENT)) {
      Load load = Load.start(bench.limiter, calls(4, 20, SECOND), 1_000);
      await().until(() -> load.answeredSoFar().size() > 200);
      bench.admin(redis -> redis.flushall());
      await().until(() -> load.answeredSoFar().size() > 600);
      Collection<TimedVerdict> answers = load.stop();

      assertDecidedByRedis(answers);
      assertNotOverAdmitted(answers, DecidedBy.STORE, 40, SECOND);
    }
  }

  @ParameterizedTest(name = "F28: {0} under a key")
  @ValueSource(strings = {"RPUSH %s a", "SADD %s a", "HSET %s a b", "ZADD %s 1 a", "XADD %s * a b"})
  void anotherTypeIsAnErrorThatTheFallbackAnswers(String write) {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("typed", 5, HOUR);
      String key = new String(AuditedStore.name(call.charge(0).key()));
      bench.admin(write.formatted(key));
      Verdict verdict = bench.ask(call);
      assertThat(verdict.reason()).contains(FailureReason.ERROR);
      assertThat(verdict.allowed()).isTrue();
      assertThat(bench.ask(call("another", 5, HOUR)).decidedBy()).isEqualTo(DecidedBy.STORE);
      bench.admin("DEL " + key);
      assertThat(bench.ask(call).decidedBy()).isEqualTo(DecidedBy.STORE);
    }
  }

  @Test
  @DisplayName("F28: bytes of a log are changed at random")
  void noGarbageDeniesForLongerThanAWindowOrAdmitsWithoutEnd() {
    Duration window = Duration.ofMillis(300);
    Random random = new Random(1);
    try (FaultBench bench = FaultBench.start();
        KeyWriter keys = new KeyWriter(bench.redis.uri())) {
      for (LimitRequest call : calls(1_000, 3, window)) {
        admittedOf(bench, call, 3);
        // Without a time to live, so that waiting alone does not heal it.
        keys.write(call, damaged(keys.read(call), random));
      }
      List<LimitRequest> calls = calls(1_000, 3, window);
      calls.forEach(bench::ask);
      pass(window.multipliedBy(2));

      // A unit of the near future counts until that time has come, and a value that is no log may
      // only be detected by the first call that is denied.
      await()
          .pollInterval(window)
          .atMost(window.multipliedBy(20))
          .until(
              () ->
                  calls.stream()
                      .map(bench::ask)
                      .filter(
                          verdict ->
                              !verdict.allowed()
                                  || verdict.reason().equals(Optional.of(FailureReason.ERROR)))
                      .count(),
              failing -> failing == 0);
      pass(window);
      assertThat(calls)
          .as("at most the count within a window")
          .allMatch(call -> admittedOf(bench, call, 4) <= 3);
    }
  }

  /** A few of the bytes are changed, or all ones, which is NaN, or a very large number. */
  private static byte[] damaged(byte[] log, Random random) {
    for (int i = random.nextInt(3); i >= 0; i--) {
      int at = random.nextInt(log.length);
      byte[] noise = new byte[Math.min(random.nextBoolean() ? 1 : 8, log.length - at)];
      random.nextBytes(noise);
      if (random.nextBoolean()) {
        Arrays.fill(noise, (byte) (random.nextBoolean() ? 0x7f : 0xff));
      }
      System.arraycopy(noise, 0, log, at, noise.length);
    }
    return log;
  }

  private static long admittedOf(FaultBench bench, LimitRequest call, int calls) {
    long admitted = 0;
    for (int i = 0; i < calls; i++) {
      Verdict verdict = bench.ask(call);
      admitted += verdict.allowed() && verdict.decidedBy() == DecidedBy.STORE ? 1 : 0;
    }
    return admitted;
  }
}
