// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.FakeRedis.Sent;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/**
 * One run of a script, with simulated replies: what is sent, the result, and its report to the
 * breaker.
 */
class ScriptCallTest {

  private static final RedisScript SCRIPT = RedisScript.of("return 1");
  private static final Duration DEADLINE = Duration.ofMillis(100);
  private static final Duration HARD = Duration.ofSeconds(2);

  private final FakeRedis redis = new FakeRedis();
  private final FakeTimer timer = new FakeTimer();
  private final AtomicLong nanos = new AtomicLong();
  private final List<Long> late = new ArrayList<>();
  private final AtomicLong demotions = new AtomicLong();
  private final RecordedPeriod period = new RecordedPeriod();
  private final byte[][] keys = {{1}};
  private final byte[][] arguments = {{2}, {3}};

  @Test
  void theReplyIsTheResult() {
    ScriptCall<Long> call = call();

    redis.sent(0).complete(7L);

    assertThat(call).isCompletedWithValue(7L);
    assertThat(timer.isWaiting()).isFalse();
    assertThat(redis.sent())
        .extracting(Sent::command, Sent::script)
        .containsExactly(tuple("evalsha", SCRIPT.sha()));
    assertThat(period.reports()).containsExactly("answered");
  }

  @Test
  void aCommandThatItsConnectionDoesNotTimeEndsAtTheDeadline() {
    ScriptCall<Long> call = call();
    assertThat(timer.delay()).isEqualTo(DEADLINE);

    timer.fire();

    assertFailed(call, FailureReason.TIMEOUT, "Redis did not answer within 100 ms");
    assertThat(redis.sent(0)).isCancelled();
    assertThat(period.reports()).containsExactly("failed TIMEOUT");
  }

  @Test
  void aDemotedNodeIsReported() {
    ScriptCall<Long> call = call();

    redis
        .sent(0)
        .completeExceptionally(
            new RedisCommandExecutionException(
                "READONLY You can't write against a read only replica."));

    assertFailed(call, FailureReason.ERROR, "Redis answered with the error READONLY");
    assertThat(demotions).hasValue(1);
  }

  @Test
  void aReplyBehindTheDeadlineChangesNothing() {
    redis.ignoreCancelling();
    ScriptCall<Long> call = call();
    timer.fire();

    redis.sent(0).complete(7L);

    assertFailed(call, FailureReason.TIMEOUT, "Redis did not answer within 100 ms");
    assertThat(late).containsExactly(7L);
    assertThat(period.reports()).containsExactly("failed TIMEOUT");
  }

  @Test
  void aReplyInTimeIsNotLate() {
    call();

    redis.sent(0).complete(7L);

    assertThat(late).isEmpty();
  }

  @Test
  void aScriptThatRedisDoesNotKnowIsSentWholeOnce() {
    ScriptCall<Long> call = call();

    redis.sent(0).completeExceptionally(new RedisNoScriptException("NOSCRIPT No matching script"));
    assertThat(call).isNotDone();
    redis.sent(1).complete(7L);

    assertThat(call).isCompletedWithValue(7L);
    assertThat(redis.sent(1).command()).isEqualTo("eval");
    assertThat(redis.sent(1).script()).isEqualTo(SCRIPT.text());
    assertThat(redis.sent(1).keys()).isSameAs(keys);
    assertThat(redis.sent(1).arguments()).isSameAs(arguments);
    assertThat(timer.started()).as("deadlines").isEqualTo(1);
    assertThat(timer.isWaiting()).isFalse();
  }

  @Test
  void itIsNotSentAThirdTime() {
    ScriptCall<Long> call = call();

    redis.sent(0).completeExceptionally(new RedisNoScriptException("NOSCRIPT No matching script"));
    redis.sent(1).completeExceptionally(new RedisNoScriptException("NOSCRIPT No matching script"));

    assertFailed(call, FailureReason.ERROR, "Redis answered with the error NOSCRIPT");
    assertThat(redis.sent()).hasSize(2);
  }

  @Test
  void theDeadlineEndsTheSecondCommandToo() {
    ScriptCall<Long> call = call();
    redis.sent(0).completeExceptionally(new RedisNoScriptException("NOSCRIPT No matching script"));

    timer.fire();

    assertFailed(call, FailureReason.TIMEOUT, "Redis did not answer within 100 ms");
    assertThat(redis.sent(1)).isCancelled();
    assertThat(period.reports()).containsExactly("failed TIMEOUT");
  }

  @Test
  void noCommandIsSentAfterTheDeadline() {
    redis.ignoreCancelling();
    call();
    timer.fire();

    redis.sent(0).completeExceptionally(new RedisNoScriptException("NOSCRIPT No matching script"));

    assertThat(redis.sent()).hasSize(1);
  }

  @Test
  void anyOtherFailureIsTheResultAndNothingIsSentAgain() {
    ScriptCall<Long> call = call();

    redis.sent(0).completeExceptionally(new RedisCommandExecutionException("OOM no memory"));

    assertFailed(call, FailureReason.ERROR, "Redis answered with the error OOM");
    assertThat(redis.sent()).hasSize(1);
    assertThat(timer.isWaiting()).isFalse();
    assertThat(period.reports()).containsExactly("failed ERROR");
  }

  @Test
  void aLostConnectionIsTheResultAndNothingIsSentAgain() {
    ScriptCall<Long> call = call();

    redis.sent(0).completeExceptionally(new RedisException("Connection disconnected"));

    assertFailed(call, FailureReason.DISCONNECTED, "Redis is not connected");
    assertThat(redis.sent()).hasSize(1);
    assertThat(period.reports()).containsExactly("failed DISCONNECTED");
  }

  @Test
  void aCommandThatLettuceRejectsFails() {
    redis.failToSend(
        new RedisException("Request queue size exceeded: 1. Commands are not accepted"));

    assertFailed(call(), FailureReason.OVERLOADED, "Too many commands wait for a reply from Redis");
    assertThat(timer.isWaiting()).isFalse();
  }

  @Test
  void aScriptTextThatLettuceRejectsFails() {
    ScriptCall<Long> call = call();
    redis.failToSend(new RedisException("Currently not connected. Commands are rejected."));

    redis.sent(0).completeExceptionally(new RedisNoScriptException("NOSCRIPT No matching script"));

    assertFailed(call, FailureReason.DISCONNECTED, "Redis is not connected");
    assertThat(timer.isWaiting()).isFalse();
    assertThat(period.reports()).containsExactly("undecided");
  }

  @Test
  void theBreakerGetsTheEndBeforeTheCaller() {
    ScriptCall<Long> call = call();
    call.whenComplete((reply, failure) -> period.reports().add("caller"));
    timer.fire();
    assertThat(period.reports()).containsExactly("failed TIMEOUT", "caller");
  }

  @Test
  void aFailureOfThisProcessIsNoFailureOfTheNode() {
    redis.failToSend(new IllegalStateException("a defect"));
    call();
    assertThat(period.reports()).containsExactly("undecided");
  }

  private ScriptCall<Long> call() {
    RedisNodes nodes =
        new RedisNodes(
            redis.source(demotions::incrementAndGet),
            new NodeBreakers(node -> period.breaker()),
            timer,
            nanos::get);
    ScriptCall<Long> call =
        new ScriptCall<>(
            nodes,
            SCRIPT,
            ScriptOutputType.INTEGER,
            keys,
            arguments,
            new ScriptCall.Time(DEADLINE, HARD, nanos.get()));
    call.late().thenAccept(late::add);
    return call.start();
  }

  private static void assertFailed(ScriptCall<Long> call, FailureReason reason, String message) {
    assertThat(call)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.reason()).isEqualTo(reason))
        .withMessage(message);
  }
}
