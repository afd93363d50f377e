// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What one run of a script reports to the breaker: its end, once, and before its caller. */
class ScriptCallBreakerTest {

  private static final Duration DEADLINE = Duration.ofMillis(100);

  private final FakeRedis redis = new FakeRedis();
  private final FakeTimer timer = new FakeTimer();
  private final AtomicLong nanos = new AtomicLong();
  private final RecordedPeriod period = new RecordedPeriod();

  @Test
  void anAnswerIsReportedToTheBreakerOnce() {
    redis.ignoreCancelling();
    call();

    redis.sent(0).complete(7L);
    timer.fire();

    assertThat(period.reports()).containsExactly("answered");
  }

  @Test
  void aDeadlineIsReportedToTheBreakerOnce() {
    redis.ignoreCancelling();
    call();

    timer.fire();
    redis.sent(0).complete(7L);

    assertThat(period.reports()).containsExactly("failed TIMEOUT");
  }

  @Test
  void theCommandThatTheDeadlineEndedIsNoSecondFailure() {
    call();

    timer.fire();

    assertThat(redis.sent(0)).isCancelled();
    assertThat(period.reports()).containsExactly("failed TIMEOUT");
  }

  @Test
  void theBreakerGetsTheEndBeforeTheCaller() {
    ScriptCall<Long> call = call();
    call.whenComplete((reply, failure) -> period.reports().add("caller"));

    timer.fire();

    assertThat(period.reports()).containsExactly("failed TIMEOUT", "caller");
  }

  @Test
  void aMissingScriptReportsNothingToTheBreakerUntilItHasRun() {
    call();

    redis.sent(0).completeExceptionally(new RedisNoScriptException("NOSCRIPT No matching script"));
    assertThat(period.reports()).isEmpty();
    redis.sent(1).completeExceptionally(new RedisCommandExecutionException("OOM no memory"));

    assertThat(period.reports()).containsExactly("failed ERROR");
  }

  @Test
  void aFailureOfThisProcessIsNoFailureOfTheNode() {
    redis.failToSend(new IllegalStateException("a defect"));
    call();

    assertThat(period.reports()).containsExactly("undecided");
  }

  @Test
  void aConnectionThatHasJustEndedIsNoFailureOfNodeOrCall() {
    redis.failToSend(new RedisException("Currently not connected. Commands are rejected."));
    call();

    assertThat(period.reports()).containsExactly("undecided");
  }

  @Test
  void aConnectionThatEndsBeforeTheAnswerIsAFailure() {
    call();

    redis.sent(0).completeExceptionally(new RedisException("Connection disconnected"));

    assertThat(period.reports()).containsExactly("failed DISCONNECTED");
  }

  private ScriptCall<Long> call() {
    RedisNodes nodes =
        new RedisNodes(
            redis.source(() -> {}), new NodeBreakers(node -> period.breaker()), timer, nanos::get);
    return new ScriptCall<Long>(
            nodes,
            RedisScript.of("return 1"),
            ScriptOutputType.INTEGER,
            new byte[][] {{1}},
            new byte[][] {{2}, {3}},
            new ScriptCall.Time(DEADLINE, Duration.ofSeconds(2), nanos.get()))
        .start();
  }
}
