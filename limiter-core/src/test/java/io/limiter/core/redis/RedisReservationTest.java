// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisException;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.redis.wire.ChargeReply;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which commands overlapping renewals and settlements send, and when; with simulated replies. */
class RedisReservationTest {

  private static final Subject ADA = new Subject("user", "ada");
  private static final LimitRequest IN_FLIGHT =
      LimitRequest.of(Policy.of("export", ConcurrencyLimitRule.of(3)), ADA);
  private static final LimitRequest FAILURES =
      LimitRequest.of(
          Policy.of("login", SlidingWindowLogRule.of(3, Duration.ofMinutes(1)))
              .withCounting(Counting.FAILURES),
          ADA);

  private final FakeRedis redis = new FakeRedis();
  private final RedisStore store =
      new RedisStore(
          redis.source(() -> {}),
          new RedisSettings("t:", Duration.ofSeconds(10)),
          DecisionScripts.load());

  @AfterEach
  void close() {
    store.close();
  }

  /** The reservation of a call that was admitted at these times of its keys. */
  private Reservation admitted(LimitRequest request, double... times) {
    var verdict = store.decide(request, Mode.ACQUIRE);
    ByteBuffer reply = ByteBuffer.allocate(29 * times.length);
    for (double time : times) {
      reply.put((byte) ChargeReply.ADMITTED).putDouble(time).putDouble(0).putInt(3).putDouble(1);
    }
    redis.sent(redis.sent().size() - 1).complete(reply.array());
    return verdict.toCompletableFuture().join().reservation();
  }

  private static byte[] stamp(double time) {
    return ByteBuffer.allocate(8).putDouble(time).array();
  }

  /** The stamp in a command, at the beginning of its first argument. */
  private double stampOf(int command) {
    return ByteBuffer.wrap(((byte[][]) redis.sent(command).arguments())[0]).getDouble();
  }

  @Test
  void aSettlementDuringARenewalRunsAfterItWithTheNewStamp() {
    Reservation reservation = admitted(IN_FLIGHT, 1_000);
    CompletableFuture<Long> renewed = reservation.renewPermits().toCompletableFuture();
    CompletableFuture<Long> settled = reservation.settle(Completion.failed()).toCompletableFuture();
    assertThat(stampOf(1)).isEqualTo(1_000);
    assertThat(redis.sent()).hasSize(2);

    redis.sent(1).complete(stamp(9_000));
    assertThat(renewed).isCompletedWithValue(1L);
    assertThat(redis.sent()).hasSize(3);
    assertThat(stampOf(2)).isEqualTo(9_000);
    redis.sent(2).complete(1L);
    assertThat(settled).isCompletedWithValue(1L);
  }

  @Test
  void aRefundDuringAFailedRenewalUsesTheKnownStamp() {
    Reservation reservation = admitted(IN_FLIGHT, 1_000);
    CompletableFuture<Long> renewed = reservation.renewPermits().toCompletableFuture();
    var unused = reservation.refund();
    redis.sent(1).completeExceptionally(new RedisException("lost"));

    assertThat(renewed)
        .failsWithin(Duration.ofSeconds(1))
        .withThrowableThat()
        .withCauseInstanceOf(StoreException.class);
    assertThat(stampOf(2)).isEqualTo(1_000);
  }

  @Test
  void aRenewalFollowsTheOneBefore() {
    Reservation reservation = admitted(IN_FLIGHT, 1_000);
    var first = reservation.renewPermits();
    var second = reservation.renewPermits();
    second.toCompletableFuture().cancel(false);
    var third = reservation.renewPermits();
    assertThat(redis.sent()).hasSize(2);
    redis.sent(1).complete(stamp(2_000));
    assertThat(first).isCompletedWithValue(1L);
    assertThat(third).isCompletedWithValue(1L);
    var unused = reservation.renewPermits();
    assertThat(stampOf(2)).isEqualTo(2_000);
  }

  @Test
  void afterTheEndNothingIsRenewed() {
    Reservation reservation = admitted(IN_FLIGHT, 1_000);
    var unused = reservation.settle(Completion.succeeded());
    assertThat(reservation.renewPermits()).isCompletedWithValue(0L);
    assertThat(reservation.settle(Completion.succeeded())).isCompletedWithValue(0L);
    assertThat(reservation.refund()).isCompletedWithValue(0L);
    assertThat(redis.sent()).hasSize(2);
  }

  @Test
  void aStrangeAnswerToARenewalFailsIt() {
    Reservation reservation = admitted(IN_FLIGHT, 1_000);
    var renewed = reservation.renewPermits();
    redis.sent(1).complete(new byte[3]);
    assertThat(renewed)
        .failsWithin(Duration.ofSeconds(1))
        .withThrowableThat()
        .withMessageContaining("Redis replied to a renewal with 3 bytes instead of 8");
  }

  @Test
  void allThatIsGivenBackIsOneCommand() {
    Reservation reservation = admitted(FAILURES.and(IN_FLIGHT), 1_000, 2_000);
    var unused = reservation.settle(Completion.succeeded());
    assertThat(redis.sent()).hasSize(2);
    assertThat((byte[][]) redis.sent(1).keys()).hasNumberOfRows(2);
    byte[][] arguments = (byte[][]) redis.sent(1).arguments();
    assertThat(Arrays.copyOf(arguments[0], 8)).isEqualTo(stamp(1_000));
    assertThat(Arrays.copyOf(arguments[1], 8)).isEqualTo(stamp(2_000));
  }

  @Test
  void whereNothingIsToBeGivenBackNothingIsSent() {
    Reservation reservation = admitted(FAILURES, 1_000);
    assertThat(reservation.settle(Completion.failed())).isCompletedWithValue(0L);
    assertThat(redis.sent()).hasSize(1);
  }
}
