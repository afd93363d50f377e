// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.idempotency.IdempotencyStoreContract.bytes;
import static io.limiter.core.idempotency.IdempotencyStoreContract.join;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.Claim;
import io.limiter.core.Claim.State;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.Submission;
import io.limiter.core.idempotency.IdempotencyStore;
import io.limiter.core.idempotency.IdempotencyStoreContract;
import io.limiter.core.testing.RedisProcess;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RedisIdempotencyStoreTest implements IdempotencyStoreContract {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration DEADLINE = Duration.ofMillis(50);

  /** The state, the token and the fingerprint. */
  private static final int HEAD = 49;

  private static TestRedis redis;
  private static byte[] name;
  private final RedisStore limits = redis.store();
  private final IdempotencyStore store = limits.idempotency();

  @BeforeAll
  static void connect() {
    redis = new TestRedis();
    name = redis.name(KEY);
  }

  @AfterAll
  static void disconnect() {
    redis.close();
  }

  /** A claim also reads the clock, as decisions do. */
  @BeforeEach
  void setClock() {
    redis.setClock(1_700_000_000_000_000L);
  }

  @AfterEach
  void close() {
    limits.close();
    redis.forgetAll();
  }

  @Override
  public IdempotencyStore store() {
    return store;
  }

  /** Redis' clock cannot be set, but its expiry can. */
  @Override
  public void pass(Duration time) {
    long left = redis.commands().pttl(name);
    assertThat(left).isNotEqualTo(-1);
    if (left >= 0) {
      redis.commands().pexpire(name, left - time.toMillis());
    }
  }

  private static void assertLives(Duration time) {
    assertThat(redis.commands().pttl(name))
        .isBetween(time.minus(SLACK).toMillis(), time.toMillis());
  }

  @Test
  void everyValueHasATimeToLive() {
    Claim first = claimed();
    assertLives(MINUTE);
    assertThat(renew(first, HOUR)).isTrue();
    assertLives(HOUR);
    assertThat(join(store.answer(first, bytes("answer"), MINUTE))).isTrue();
    assertLives(MINUTE);
    claim();
    assertThat(answer(first, "again")).isTrue();
    assertLives(MINUTE);
  }

  /** As idempotency.lua describes it. */
  @Test
  void aValueHasTheDocumentedLayout() {
    Claim first = claimed();
    byte[] running = redis.commands().get(name);
    assertThat(running)
        .isEqualTo(ByteBuffer.allocate(HEAD).put((byte) 'R').put(first.token()).put(SAME).array());
    assertThat(answer(first, "answer")).isTrue();
    byte[] answered = redis.commands().get(name);
    assertThat(Arrays.copyOf(answered, HEAD))
        .isEqualTo(ByteBuffer.allocate(HEAD).put((byte) 'A').put(first.token()).put(SAME).array());
    assertThat(new String(answered, HEAD, answered.length - HEAD, StandardCharsets.UTF_8))
        .isEqualTo("answer");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "R", "strange", "R+48+x", "X+48", "A+47", "R+47"})
  void bytesThatAreNoValueAreRemovedWithAnError(String content) {
    String[] parts = content.split("\\+", -1);
    String filled = parts.length > 1 ? "x".repeat(Integer.parseInt(parts[1])) : "";
    String last = parts.length > 2 ? parts[2] : "";
    redis.commands().psetex(name, HOUR.toMillis(), bytes(parts[0] + filled + last));

    assertError(store.claim(new Submission(KEY, SAME, MINUTE)), "answered with the error ERR");
    assertThat(redis.commands().exists(name)).isZero();

    claimed();
  }

  /** It would block the submission for ever. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aValueWithoutAnEndIsRemovedWithAnError(boolean answered) {
    Claim first = claimed();
    if (answered) {
      assertThat(answer(first, "answer")).isTrue();
    }
    assertThat(redis.commands().persist(name)).isTrue();

    assertError(store.claim(new Submission(KEY, SAME, MINUTE)), "answered with the error ERR");
    assertThat(redis.commands().exists(name)).isZero();

    claimed();
  }

  @Test
  void shortenedBytesAreNoClaim() {
    Claim first = claimed();
    redis.commands().setrange(name, 0, bytes("R"));
    redis
        .commands()
        .psetex(name, HOUR.toMillis(), Arrays.copyOf(redis.commands().get(name), HEAD - 1));
    assertThat(renew(first, MINUTE)).isFalse();
    assertThat(answer(first, "answer")).isFalse();
    assertThat(release(first)).isFalse();
  }

  @Test
  void aValueOfAnotherTypeIsAnErrorUntilItIsRemoved() {
    Claim lost = claimed();
    redis.commands().del(name);
    redis.commands().lpush(name, bytes("foreign"));
    assertError(store.claim(new Submission(KEY, SAME, MINUTE)), "WRONGTYPE");
    assertError(store.renew(lost, MINUTE), "WRONGTYPE");
    assertError(store.answer(lost, bytes("answer"), MINUTE), "WRONGTYPE");
    assertError(store.release(lost), "WRONGTYPE");
    assertThat(redis.commands().lrange(name, 0, -1)).hasSize(1);

    join(store.forget(KEY));

    claimed();
  }

  private static void assertError(CompletionStage<?> stage, String message) {
    assertFails(stage, FailureReason.ERROR, message);
  }

  private static void assertFails(CompletionStage<?> stage, FailureReason reason, String message) {
    assertThat(stage)
        .failsWithin(PATIENCE)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.reason()).isEqualTo(reason))
        .withMessageContaining(message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "X", "R", "A1234567"})
  void anUnreadableReplyIsAnError(String reply) {
    FakeRedis fake = new FakeRedis();
    boolean[] renewed = new boolean[1];
    try (RedisStore other =
        new RedisStore(fake.source(() -> renewed[0] = true), RedisSettings.defaults())) {
      CompletionStage<Claim> claim = other.idempotency().claim(new Submission(KEY, SAME, MINUTE));
      fake.sent(0).complete(bytes(reply));

      assertError(claim, "Redis sent an unreadable reply to a claim");
      assertThat(renewed[0]).as("the connection is out of step").isTrue();
    }
  }

  /** Otherwise a submission that never ran would block its repetitions for a minute. */
  @Test
  void aClaimWhoseReplyIsLateIsReleased() {
    FakeRedis fake = lateReply("C");
    byte[] token = Arrays.copyOf(arguments(fake, 0)[0], 16);

    assertThat(fake.sent()).hasSize(2);
    assertThat(arguments(fake, 1)).isDeepEqualTo(new byte[][] {bytes("release"), token});
    assertThat((byte[][]) fake.sent(1).keys()).isDeepEqualTo((byte[][]) fake.sent(0).keys());
  }

  @ParameterizedTest
  @ValueSource(strings = {"D", "R12345678", "A12345678answer"})
  void whatAnotherHasClaimedIsNotReleased(String reply) {
    assertThat(lateReply(reply).sent()).hasSize(1);
  }

  /** A claim fails because Redis is late, then this reply arrives. */
  private static FakeRedis lateReply(String reply) {
    FakeRedis fake = new FakeRedis();
    fake.ignoreCancelling();
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, DEADLINE);
    try (RedisStore other = new RedisStore(fake.source(() -> {}), settings)) {
      assertFails(
          other.idempotency().claim(new Submission(KEY, SAME, MINUTE)),
          FailureReason.TIMEOUT,
          "within 50 ms");
      fake.sent(0).complete(bytes(reply));
    }
    return fake;
  }

  private static byte[][] arguments(FakeRedis fake, int index) {
    return (byte[][]) fake.sent(index).arguments();
  }

  /** A server that stops for a time, then one that is gone. */
  @Test
  void whileRedisIsAwayEachOperationFailsWithinTheDeadline() {
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, DEADLINE);
    try (RedisProcess server = RedisProcess.onFreePort().start();
        RedisStore other =
            new RedisStore(
                SharedConnection.open(RedisURI.create(server.uri()), settings), settings)) {
      IdempotencyStore away = other.idempotency();
      Claim[] held = new Claim[1];
      await()
          .atMost(PATIENCE)
          .ignoreExceptions()
          .until(
              () -> {
                held[0] = join(away.claim(new Submission(SUBJECT.answers("held"), SAME, HOUR)));
                return held[0].state() == State.CLAIMED;
              });
      server.suspend();
      long asked = System.nanoTime();
      CompletableFuture<Claim> late =
          away.claim(new Submission(KEY, SAME, HOUR)).toCompletableFuture();
      assertFails(late, FailureReason.TIMEOUT, "within 50 ms");
      assertFails(away.renew(held[0], HOUR), FailureReason.TIMEOUT, "within 50 ms");
      assertThat(Duration.ofNanos(System.nanoTime() - asked)).isLessThan(Duration.ofSeconds(2));
      server.resume();

      await()
          .atMost(PATIENCE)
          .ignoreExceptions()
          .until(() -> join(away.claim(new Submission(KEY, SAME, HOUR))).state() == State.CLAIMED);

      server.kill();
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertFails(away.forget(KEY), FailureReason.DISCONNECTED, "Redis at 127.0.0.1"));
      assertFails(
          away.claim(new Submission(KEY, SAME, HOUR)),
          FailureReason.DISCONNECTED,
          "Redis at 127.0.0.1");
      assertFails(
          away.answer(held[0], bytes("answer"), HOUR),
          FailureReason.DISCONNECTED,
          "Redis at 127.0.0.1");
      assertFails(away.release(held[0]), FailureReason.DISCONNECTED, "Redis at 127.0.0.1");
    }
  }
}
