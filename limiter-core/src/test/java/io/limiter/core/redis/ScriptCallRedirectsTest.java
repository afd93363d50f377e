// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.ClusterSource.Redirection;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** A call that is redirected to another node, with simulated replies. */
class ScriptCallRedirectsTest {

  private static final RedisScript SCRIPT = RedisScript.of("return 1");
  private static final RedisException MOVED =
      new RedisCommandExecutionException("MOVED 1 10.0.0.2:6379");

  private final FakeRedis first = new FakeRedis();
  private final FakeRedis second = new FakeRedis();
  private final FakeTimer timer = new FakeTimer();
  private final RecordedPeriod firstPeriod = new RecordedPeriod();
  private final RecordedPeriod secondPeriod = new RecordedPeriod();
  private final CompletableFuture<ClusterSource.Primary> next = new CompletableFuture<>();
  private ScriptCall<Long> call;

  @Test
  void theOtherNodesAnswerIsTheResult() {
    start();
    first.sent(0).completeExceptionally(MOVED);
    arrive();
    second.sent(0).complete(7L);

    assertThat(call).isCompletedWithValue(7L);
    assertThat(firstPeriod.reports()).containsExactly("answered");
    assertThat(secondPeriod.reports()).containsExactly("answered");
    assertThat(timer.isWaiting()).isFalse();
  }

  @Test
  void aScriptThatTheOtherDoesNotKnowIsSentWholeThereToo() {
    start();
    first.sent(0).completeExceptionally(new RedisNoScriptException("NOSCRIPT"));
    first.sent(1).completeExceptionally(MOVED);
    arrive();
    second.sent(0).completeExceptionally(new RedisNoScriptException("NOSCRIPT"));
    second.sent(1).complete(7L);

    assertThat(call).isCompletedWithValue(7L);
    assertThat(second.sent(1).command()).isEqualTo("eval");
  }

  @Test
  void noCommandIsRedirectedAfterTheDeadline() {
    first.ignoreCancelling();
    start();
    timer.fire();
    first.sent(0).completeExceptionally(MOVED);
    arrive();

    assertThat(second.sent()).isEmpty();
    assertFailed(FailureReason.TIMEOUT);
  }

  /** For example when the connection to the other node has to be opened first. */
  @Test
  void aCallThatWaitsForTheOtherNodeIsNotSentAfterTheDeadline() {
    start();
    first.sent(0).completeExceptionally(MOVED);
    timer.fire();
    assertFailed(FailureReason.TIMEOUT);
    arrive();

    assertThat(second.sent()).isEmpty();
    assertThat(firstPeriod.reports()).containsExactly("answered");
    assertThat(secondPeriod.reports()).as("its breaker is not asked").isEmpty();
  }

  @Test
  void theDeadlineEndsACallThatTheOtherNodeHasNotAnswered() {
    start();
    first.sent(0).completeExceptionally(MOVED);
    arrive();
    timer.fire();

    assertThat(second.sent(0)).isCancelled();
    assertFailed(FailureReason.TIMEOUT);
    assertThat(firstPeriod.reports()).containsExactly("answered");
    assertThat(secondPeriod.reports()).containsExactly("failed TIMEOUT");
  }

  @Test
  void aNodeThatMayNotBeAskedIsTheResult() {
    start();
    first.sent(0).completeExceptionally(MOVED);
    next.completeExceptionally(StoreException.notAsked("not asked", Duration.ofSeconds(1)));

    assertFailed(FailureReason.BREAKER_OPEN);
    assertThat(firstPeriod.reports()).containsExactly("answered");
  }

  @Test
  void nodesThatSendItRoundInCirclesEndIt() {
    arrive();
    start();
    first.sent(0).completeExceptionally(MOVED);
    for (int i = 0; i < 5; i++) {
      second.sent(i).completeExceptionally(MOVED);
    }

    assertFailed(FailureReason.ERROR);
    assertThat(second.sent()).hasSize(5);
  }

  private void start() {
    RedisNodes nodes =
        new RedisNodes(
            new Redirecting(),
            new NodeBreakers(
                node -> (node.equals("second") ? secondPeriod : firstPeriod).breaker()),
            timer,
            System::nanoTime);
    call =
        new ScriptCall<Long>(
                nodes,
                SCRIPT,
                ScriptOutputType.INTEGER,
                new byte[][] {{1}},
                new byte[][] {{2}},
                new ScriptCall.Time(
                    Duration.ofMillis(100), Duration.ofSeconds(2), System.nanoTime()))
            .start();
  }

  private void arrive() {
    next.complete(new Node("second", second));
  }

  /** Every slot is of the first node, which sends each call on. */
  private final class Redirecting implements ClusterSource {

    @Override
    public Primary node(int slot) {
      return new Node("first", first);
    }

    @Override
    public CompletionStage<Primary> node(Redirection redirection, Primary from) {
      return next;
    }

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> commands() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }

  private record Node(String name, FakeRedis redis) implements ClusterSource.Primary {

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> commands() {
      return redis.commands();
    }

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> asking() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void failed() {}

    @Override
    public void close() {}
  }

  private void assertFailed(FailureReason reason) {
    assertThat(call)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.reason()).isEqualTo(reason));
  }
}
