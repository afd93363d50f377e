// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.StoreHarness;
import io.limiter.core.redis.ClusterSource.Redirection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Each node of a Cluster has its own breaker; with simulated replies of two nodes, each with half
 * the slots.
 */
class ClusterBreakersTest {

  private static final RedisSettings SETTINGS = new RedisSettings("t:", Duration.ofSeconds(10));
  private static final RedisCommandExecutionException LOADING =
      new RedisCommandExecutionException("LOADING Redis is loading the dataset in memory");

  private final FakeNode low = new FakeNode("low");
  private final FakeNode high = new FakeNode("high");
  private final RedisStore store = new RedisStore(new TwoNodes(), SETTINGS);
  private final LimitRequest ofLow = callOf(low);
  private final LimitRequest ofHigh = callOf(high);

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void oneThatFailsIsNotAskedAndTheOthersAre() {
    failTimes(5);

    assertFails(decide(ofLow), FailureReason.BREAKER_OPEN);
    assertThat(low.redis.sent()).hasSize(5);
    assertThat(decide(ofHigh)).isNotCompleted();
    assertThat(high.redis.sent()).hasSize(1);
  }

  @Test
  void everyFailureCausesALookupOfTheSlots() {
    failTimes(3);
    assertThat(low.failures).isEqualTo(3);

    low.connected = false;
    assertFails(decide(ofLow), FailureReason.DISCONNECTED);
    assertThat(low.failures).isEqualTo(4);
    assertThat(high.failures).isZero();
  }

  @Test
  void aNodeThatRedirectsHasAnswered() {
    for (int i = 0; i < 30; i++) {
      decide(ofLow);
      last(low).completeExceptionally(new RedisCommandExecutionException("MOVED 1 high:1"));
    }

    assertThat(low.redis.sent()).hasSize(30);
    assertThat(high.redis.sent()).hasSize(30);
  }

  @Test
  void aCallIsNotSentOnToOneThatFails() {
    failTimes(5);
    CompletableFuture<?> decision = decide(ofHigh);
    last(high).completeExceptionally(new RedisCommandExecutionException("MOVED 1 low:1"));

    assertFails(decision, FailureReason.BREAKER_OPEN);
    assertThat(low.redis.sent()).hasSize(5);
  }

  @Test
  void aCallToAMigratingSlotIsSentWithAsking() {
    decide(ofLow);
    last(low).completeExceptionally(new RedisCommandExecutionException("ASK 1 high:1"));

    assertThat(high.redis.sent()).isEmpty();
    assertThat(high.asked.sent()).hasSize(1);
  }

  private void failTimes(int calls) {
    for (int i = 0; i < calls; i++) {
      CompletableFuture<?> decision = decide(ofLow);
      last(low).completeExceptionally(LOADING);
      assertFails(decision, FailureReason.ERROR);
    }
  }

  private CompletableFuture<?> decide(LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture();
  }

  private static FakeRedis.Sent last(FakeNode node) {
    List<FakeRedis.Sent> sent = node.redis.sent();
    return sent.get(sent.size() - 1);
  }

  private LimitRequest callOf(FakeNode node) {
    return IntStream.range(0, 1_000)
        .mapToObj(i -> call("user-" + i, rule(5, StoreHarness.HOUR)))
        .filter(call -> owner(SlotHash.getSlot(SETTINGS.name(call.charge(0).key()))) == node)
        .findFirst()
        .orElseThrow();
  }

  private FakeNode owner(int slot) {
    return slot < SlotHash.SLOT_COUNT / 2 ? low : high;
  }

  private static void assertFails(CompletableFuture<?> decision, FailureReason reason) {
    assertThat(decision)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.reason()).isEqualTo(reason));
  }

  private final class TwoNodes implements ClusterSource {

    @Override
    public Primary node(int slot) {
      return owner(slot);
    }

    @Override
    public CompletionStage<Primary> node(Redirection redirection, Primary from) {
      return CompletableFuture.completedFuture(
          redirection.address().host().equals("low") ? low : high);
    }

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> commands() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }

  private static final class FakeNode implements ClusterSource.Primary {

    private final String name;
    private final FakeRedis redis = new FakeRedis();
    private final FakeRedis asked = new FakeRedis();
    private boolean connected = true;
    private int failures;

    FakeNode(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> commands() {
      if (!connected) {
        throw new StoreException(FailureReason.DISCONNECTED, name + " is not connected", null);
      }
      return redis.commands();
    }

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> asking() {
      return asked.commands();
    }

    @Override
    public void failed() {
      failures++;
    }

    @Override
    public void close() {}
  }
}
