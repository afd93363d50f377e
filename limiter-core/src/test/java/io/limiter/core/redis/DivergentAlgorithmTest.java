// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A custom algorithm whose Lua and Java implementations disagree. */
class DivergentAlgorithmTest {

  /** More than open the breaker. */
  private static final int MANY = 20;

  private final TestRedis redis = new TestRedis();
  private final RedisStore store = redis.store(List.of(new Divergent()));

  /**
   * Units never come back. The first parameter is the number of units that Lua reports too few, the
   * second that of Java.
   */
  private record Divergent() implements CustomAlgorithm {

    @Override
    public String name() {
      return "divergent";
    }

    @Override
    public int stateSize() {
      return 1;
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double @Nullable [] state) {
      double used = state == null ? 0 : state[0];
      double left = rule.count() - used - rule.parameters().get(1);
      double window = (double) MICROSECONDS.convert(rule.window());
      return new Evaluation(left, window, window, new double[] {used + cost});
    }

    @Override
    public String script() {
      return """
          local used = state and state[1] or 0
          return count - used - p[1], { used + cost }
          """;
    }
  }

  DivergentAlgorithmTest() {
    redis.setClock(1_700_000_000_000_000L);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  private static CustomRule divergent(double lua, double java) {
    return CustomRule.of(new Divergent(), 3, MINUTE, lua, java).withName("mine");
  }

  private static LimitRequest luaDeniesMore() {
    return call(divergent(3, 0));
  }

  private static LimitRequest javaDeniesMore() {
    return call(divergent(0, 3));
  }

  private Verdict decide(LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  private StoreException failure(LimitRequest call, Mode mode) {
    Throwable failure = catchThrowable(() -> decide(call, mode));
    assertThat(failure)
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(StoreException.class);
    StoreException cause = (StoreException) failure.getCause();
    assertThat(cause.reason()).isEqualTo(FailureReason.ERROR);
    return cause;
  }

  @ParameterizedTest
  @CsvSource({
    "ACQUIRE, 3, 0, LIMITED, ADMITTED",
    "PEEK, 3, 0, LIMITED, ADMITTED",
    "ACQUIRE, 0, 3, ADMITTED, LIMITED",
    "PEEK, 0, 3, ADMITTED, LIMITED"
  })
  void aCallThatLuaAndJavaDecideDifferentlyIsAnErrorThatNamesTheAlgorithm(
      Mode mode, double lua, double java, String status, String numbers) {
    LimitRequest call = call(divergent(lua, java));
    assertThat(failure(call, mode))
        .hasMessage(
            "Redis replied to a decision with the status %s, but its numbers give %s, under the algorithm 'divergent' of the rule 'mine': make the algorithm's script() and read() return the same",
            status, numbers);
    assertThat(failure(call.observe(), mode)).hasMessageContaining("'divergent'");
  }

  @Test
  void theErrorNamesOnlyTheCustomAlgorithmsOfAStack() {
    assertThat(failure(call(rule(5, MINUTE), divergent(3, 0)), Mode.ACQUIRE))
        .hasMessageContaining("under the algorithm 'divergent' of the rule 'mine':");
    CustomRule other = divergent(0, 0).withName("other");
    assertThat(failure(call(other, divergent(3, 0)), Mode.ACQUIRE))
        .hasMessageContaining(
            "under the algorithm 'divergent' of the rule 'other'"
                + " or 'divergent' of the rule 'mine':");
  }

  /** Nothing can deny it, so the implementations cannot disagree. */
  @Test
  void aRecordIsNeverDenied() {
    assertThat(decide(luaDeniesMore(), Mode.RECORD).allowed()).isTrue();
    assertThat(decide(javaDeniesMore(), Mode.RECORD).allowed()).isTrue();
  }

  @Test
  void callsAreDecidedWhileLuaAndJavaAgree() {
    LimitRequest call = call(divergent(0, 1));
    assertThat(decide(call, Mode.ACQUIRE).allowed()).isTrue();
    assertThat(decide(call, Mode.ACQUIRE).allowed()).isTrue();
    assertThat(failure(call, Mode.ACQUIRE)).hasMessageContaining("'divergent'"); // the third of 3
    assertThat(decide(call, Mode.ACQUIRE).allowed()).isFalse(); // which Redis has counted
  }

  @Test
  void unitsThatTheScriptTookLeaveWithTheirWindow() {
    LimitRequest call = call(rule(5, MINUTE), divergent(0, 3));
    int one = lengthAfter(call);
    assertThat(lengthAfter(call)).as("another unit").isEqualTo(one + 8);
    redis.setClock(1_700_000_000_000_000L + MICROSECONDS.convert(MINUTE));
    assertThat(lengthAfter(call)).isEqualTo(one);
  }

  private int lengthAfter(LimitRequest failing) {
    assertThat(failure(failing, Mode.ACQUIRE)).isNotNull();
    return redis.commands().get(redis.name(failing.charge(0).key())).length;
  }

  @Test
  void aCallThatTheScriptDeniedTookNothing() {
    LimitRequest call = call(rule(5, MINUTE), divergent(3, 0));
    assertThat(failure(call, Mode.ACQUIRE)).isNotNull();
    assertThat(redis.commands().get(redis.name(call.charge(0).key()))).isNull();
  }

  /** Redis is healthy: other calls continue. */
  @Test
  void manyDivergentDecisionsOpenNoBreaker() {
    for (int i = 0; i < MANY; i++) {
      assertThat(failure(luaDeniesMore(), Mode.ACQUIRE).reason()).isEqualTo(FailureReason.ERROR);
    }
    assertThat(decide(call(rule(1, Duration.ofHours(1))), Mode.ACQUIRE).allowed()).isTrue();
  }

  @Test
  void theFallbackDecidesTheCall() {
    try (FallbackStore both = new FallbackStore(store, new MemoryStore())) {
      Verdict verdict = both.decide(luaDeniesMore(), Mode.ACQUIRE).toCompletableFuture().join();
      assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
      assertThat(verdict.reason()).contains(FailureReason.ERROR);
      assertThat(verdict.allowed()).isTrue(); // by the Java
    }
  }
}
