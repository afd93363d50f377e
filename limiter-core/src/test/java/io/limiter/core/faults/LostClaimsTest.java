// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.LimiterBench.HOUR;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Claim;
import io.limiter.core.Claim.State;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Submission;
import io.limiter.core.idempotency.IdempotencyStore;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A failover loses claims and answers that no replica had: their submissions run once more. */
@Tag("faults")
class LostClaimsTest {

  private static final Duration CLAIM = Duration.ofMinutes(1);
  private static final byte[] SAME = new byte[Submission.FINGERPRINT_BYTES];

  private final SentinelBench bench = SentinelBench.start();
  private final IdempotencyStore first = bench.idempotency();
  private final IdempotencyStore second = bench.idempotency();

  @AfterEach
  void close() {
    bench.close();
  }

  @Test
  @DisplayName("F18: a failover keeps the claims and answers that were replicated")
  void whatWasReplicatedIsKept() {
    Claim running = claimed(first, key("running"));
    assertThat(answer(first, claimed(first, key("answered")), "first")).isTrue();
    bench.awaitReplicated();

    failOver();

    assertThat(claim(second, key("running")).state()).isEqualTo(State.RUNNING);
    assertAnswered(key("answered"), "first");
    assertThat(join(first.renew(running, CLAIM))).isTrue();
    assertThat(answer(first, running, "late")).isTrue();
    assertAnswered(key("running"), "late");
  }

  /**
   * Of two methods that run, the one with the newest claim keeps its answer, whichever is first.
   */
  @Test
  @DisplayName("F18: a failover loses a claim, an answer and a release that were not replicated")
  void whatWasNotReplicatedRunsOnceMore() {
    Claim released = claimed(first, key("released"));
    Claim overtaken = claimed(first, key("overtaken"));
    bench.awaitReplicated();
    Claim lost;
    Claim late;
    RedisProcess before = bench.group.primary();
    try (FaultProxy link = bench.replicateThrough()) {
      link.blackHoleOpenConnections();
      lost = claimed(first, key("lost"));
      late = claimed(first, key("late"));
      assertThat(answer(first, claimed(first, key("answered")), "older")).isTrue();
      assertThat(answer(first, overtaken, "older")).isTrue();
      assertThat(join(first.release(released))).isTrue();

      failOver();
    }
    assertThat(before.isRunning()).isFalse();

    // Claims that no replica had: another instance runs, and the first one notices.
    Claim newer = claimed(second, key("lost"));
    assertThat(join(first.renew(lost, CLAIM))).isFalse();
    assertThat(answer(first, lost, "older")).as("too late").isFalse();
    assertThat(answer(second, newer, "newer")).isTrue();
    assertThat(answer(first, lost, "older")).as("later still").isFalse();
    assertThat(join(first.release(lost))).isFalse();
    assertAnswered(key("lost"), "newer");

    // The same where no other instance asks: there is no claim that it could answer.
    assertThat(answer(first, late, "older")).isFalse();
    assertThat(answer(second, claimed(second, key("late")), "newer")).isTrue();
    assertAnswered(key("late"), "newer");

    // An answer that no replica had: once more.
    assertThat(answer(second, claimed(second, key("answered")), "newer")).isTrue();
    assertAnswered(key("answered"), "newer");

    // Its claim was replicated: nothing runs, and the answer may be repeated.
    assertThat(claim(second, key("overtaken")).state()).isEqualTo(State.RUNNING);
    assertThat(answer(first, overtaken, "older")).isTrue();
    assertAnswered(key("overtaken"), "older");
    assertThat(claim(second, key("released")).state()).isEqualTo(State.RUNNING);
    assertThat(join(first.release(released))).isTrue();
    claimed(second, key("released"));
  }

  private void failOver() {
    RedisProcess lost = bench.group.primary();
    lost.kill();
    bench.group.awaitPrimaryInsteadOf(lost);
    StateKey key = key("healing " + lost.port());
    for (IdempotencyStore store : new IdempotencyStore[] {first, second}) {
      await()
          .atMost(Duration.ofSeconds(20))
          .ignoreExceptions()
          .until(
              () -> join(store.claim(new Submission(key, SAME, CLAIM))).state() != State.DIFFERENT);
    }
  }

  private static StateKey key(String key) {
    return StateKey.of("orders", new Subject("user", "ada")).answers(key);
  }

  private static Claim claim(IdempotencyStore store, StateKey key) {
    return join(store.claim(new Submission(key, SAME, CLAIM)));
  }

  private static Claim claimed(IdempotencyStore store, StateKey key) {
    Claim claim = claim(store, key);
    assertThat(claim.state()).isEqualTo(State.CLAIMED);
    return claim;
  }

  private static boolean answer(IdempotencyStore store, Claim claim, String answer) {
    return join(store.answer(claim, answer.getBytes(StandardCharsets.UTF_8), HOUR));
  }

  /** By both instances. */
  private void assertAnswered(StateKey key, String answer) {
    for (IdempotencyStore store : new IdempotencyStore[] {first, second}) {
      Claim found = claim(store, key);
      assertThat(found.state()).isEqualTo(State.ANSWERED);
      assertThat(found.answer()).asString(StandardCharsets.UTF_8).isEqualTo(answer);
    }
  }

  private static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(30, TimeUnit.SECONDS).join();
  }
}
