// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisFixture;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A duplicate guard whose submissions are claimed for a minute, and kept for a day afterwards. */
class ClaimedGuardTest {

  private static final Duration CLAIM = Duration.ofMinutes(1);
  private static final Duration DAY = Duration.ofDays(1);
  private static final RuleStack PLAIN = RuleStack.of(List.of(SlidingWindowLogRule.of(1, DAY)));
  private static final RuleStack GUARD = PLAIN.withClaim(CLAIM);
  private static final StateKey ADA = StateKey.of("orders", new Subject("user", "ada"));

  private final RedisURI uri = RedisURI.create(RedisFixture.uri());
  private final RedisSettings settings =
      new RedisSettings(UUID.randomUUID().toString().substring(0, 8) + ":", Duration.ofSeconds(10));
  private final SharedConnection source = SharedConnection.open(uri, settings);
  private final NodeBreakers breakers = new NodeBreakers();
  private final RedisStore store =
      new RedisStore(source, settings, DecisionScripts.load(), breakers);
  private final RedisClient client = RedisClient.create(uri);
  private final StatefulRedisConnection<byte[], byte[]> redis =
      client.connect(ByteArrayCodec.INSTANCE);

  @AfterEach
  void close() {
    store.close();
    client.shutdown();
  }

  private static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  private static LimitRequest order(RuleStack guard) {
    Policy policy =
        new Policy(
            "orders",
            "orders",
            List.of(),
            Optional.of(guard),
            List.of("orders"),
            Map.of(),
            List.of());
    return new LimitRequest(
        policy,
        List.of(),
        Optional.of(new Charge("orders", ADA.duplicates(guard, "tea"), guard, 1)));
  }

  private Verdict order(LimitStore at, RuleStack guard) {
    join(source.firstAttempt());
    return join(at.decide(order(guard), Mode.ACQUIRE));
  }

  private byte[] key() {
    return settings.name(ADA.duplicates(GUARD, "tea"));
  }

  private Duration life() {
    return Duration.ofMillis(redis.sync().pttl(key()));
  }

  @Test
  void isTakenForItsClaimUntilItIsHeld() {
    Reservation taken = order(store, GUARD).reservation();
    assertThat(life()).isBetween(CLAIM.minusSeconds(20), CLAIM);
    assertThat(order(store, GUARD).allowed()).isFalse();
    assertThat(life()).isBetween(CLAIM.minusSeconds(20), CLAIM);

    assertThat(join(taken.hold(DAY, true))).isEqualTo(1);
    assertThat(life()).isBetween(DAY.minusMinutes(1), DAY);
    assertThat(join(taken.hold(CLAIM, false))).isEqualTo(1); // a renewal that is late
    assertThat(life()).isBetween(DAY.minusMinutes(1), DAY);
    assertThat(join(taken.hold(CLAIM, true))).isEqualTo(1); // a rest that is shorter than the claim
    assertThat(life()).isBetween(CLAIM.minusSeconds(20), CLAIM);
    assertThat(order(store, GUARD).allowed()).isFalse();
    assertThat(order(store, PLAIN).allowed()).as("another instance without a claim").isFalse();

    assertThat(join(taken.release())).isEqualTo(1);
    assertThat(join(taken.hold(DAY, true))).isZero();
    assertThat(order(store, GUARD).allowed()).isTrue();
    assertThat(life()).isBetween(CLAIM.minusSeconds(20), CLAIM);
  }

  /** Only the time to live of its key decides. */
  @Test
  void isHeldBeyondItsWindow() {
    Duration window = Duration.ofMillis(600);
    RuleStack guard =
        RuleStack.of(List.of(SlidingWindowLogRule.of(1, window))).withClaim(Duration.ofMillis(500));
    Reservation taken = order(store, guard).reservation();
    assertThat(join(taken.hold(DAY, false))).isEqualTo(1);
    await()
        .during(window)
        .atMost(Duration.ofSeconds(10))
        .until(() -> !order(store, guard).allowed());
    Verdict denied = order(store, guard);
    assertThat(denied.outcome()).isEqualTo(Outcome.DUPLICATE);
    assertThat(denied.retryAfter()).contains(guard.claim());
    assertThat(denied.duplicate().orElseThrow().resetAfter()).isEqualTo(guard.claim());

    assertThat(join(taken.hold(window.minusDays(1), true))).isEqualTo(1);
    assertThat(order(store, guard).allowed()).isTrue();
    assertThat(join(taken.hold(Duration.ZERO, true))).isZero();
    assertThat(order(store, guard).allowed()).isFalse();
  }

  @Test
  void isNotHeldForACallThatHasLostIt() {
    Reservation lost = order(store, GUARD).reservation();
    redis.sync().del(key());
    Reservation next = order(store, GUARD).reservation();

    assertThat(join(lost.hold(DAY, true))).isZero();
    assertThat(life()).isLessThanOrEqualTo(CLAIM);
    assertThat(join(lost.release())).isZero();
    assertThat(join(next.hold(DAY, true))).isEqualTo(1);
  }

  /** A claim of a second or two would end while it is open. */
  @Test
  void isHeldPastAnOpenBreaker() {
    Reservation taken = order(store, GUARD).reservation();
    Breaker breaker = breakers.of(source.name());
    for (int i = 0; i < 5; i++) {
      breaker.pass().failed(new StoreException(FailureReason.TIMEOUT, "no reply", null));
    }
    assertThat(store.decide(order(GUARD), Mode.ACQUIRE))
        .failsWithin(Duration.ofSeconds(10))
        .withThrowableThat()
        .havingCause()
        .isInstanceOfSatisfying(
            StoreException.class,
            failure -> assertThat(failure.reason()).isEqualTo(FailureReason.BREAKER_OPEN));

    assertThat(join(taken.hold(DAY, true))).isEqualTo(1);
    assertThat(life()).isGreaterThan(DAY.minusMinutes(1));
    assertThat(order(store, GUARD).allowed()).as("closed by the reply").isFalse();
  }

  @Test
  void aDeniedCallHoldsNothing() {
    Reservation first = order(store, GUARD).reservation();
    assertThat(join(order(store, GUARD).reservation().hold(DAY, true))).isZero();
    assertThat(join(first.hold(CLAIM, false))).isEqualTo(1);
  }

  /** No process renews what memory has taken while Redis was away. */
  @Test
  void whatMemoryHasTakenIsRecordedForItsTime() {
    LimitRequest later = order(GUARD);
    PastCharge taken = new PastCharge(later.duplicate().orElseThrow(), Duration.ofSeconds(10));
    join(source.firstAttempt());

    assertThat(join(store.decide(later.after(List.of(taken)), Mode.ACQUIRE)).allowed()).isFalse();

    assertThat(life()).as("its key decides").isBetween(DAY.minusMinutes(1), DAY.minusSeconds(10));
  }

  /** A deadline that a busy machine meets, and shorter than the claims. */
  private RedisSettings patient() {
    return new RedisSettings(settings.prefix(), Duration.ofSeconds(2));
  }

  private static LimitStore storeOver(FaultProxy proxy, RedisSettings settings) {
    SharedConnection source = SharedConnection.open(RedisURI.create(proxy.uri()), settings);
    join(source.firstAttempt());
    return new RedisStore(source, settings);
  }

  /** Memory admits a call whose reply is late; nothing is left to be recorded then. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isHeldWhereRedisHasTakenItAfterItsDeadline(boolean whenItIsKnown) {
    RedisSettings hasty = new RedisSettings(settings.prefix(), Duration.ofMillis(200));
    try (FaultProxy proxy = new FaultProxy(new InetSocketAddress(uri.getHost(), uri.getPort()));
        LimitStore fallback = new FallbackStore(storeOver(proxy, hasty), new MemoryStore())) {
      proxy.delay(Duration.ofSeconds(2));
      Verdict admitted = join(fallback.decide(order(GUARD), Mode.ACQUIRE));
      assertThat(admitted.allowed()).isTrue();
      assertThat(admitted.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
      Reservation taken = admitted.reservation();
      if (!whenItIsKnown) {
        join(taken.hold(DAY, true));
      }
      proxy.pass();
      await()
          .atMost(Duration.ofSeconds(10))
          .until(
              () -> {
                if (whenItIsKnown) {
                  join(taken.hold(DAY, true));
                }
                return life().compareTo(DAY.minusMinutes(1)) > 0;
              });
      assertThat(order(store, GUARD).allowed()).isFalse();

      join(taken.release());
      assertThat(order(store, GUARD).allowed()).isTrue();
    }
  }

  /** So a blink of Redis admits no repetition beside the method. */
  @Test
  void theFallbackKnowsThatItIsHeldBeyondItsWindow() {
    Duration window = Duration.ofSeconds(4);
    RuleStack guard =
        RuleStack.of(List.of(SlidingWindowLogRule.of(1, window))).withClaim(window.minusMillis(1));
    try (FaultProxy proxy = new FaultProxy(new InetSocketAddress(uri.getHost(), uri.getPort()));
        LimitStore fallback = new FallbackStore(storeOver(proxy, patient()), new MemoryStore())) {
      Verdict admitted = join(fallback.decide(order(guard), Mode.ACQUIRE));
      assertThat(admitted.decidedBy()).isEqualTo(DecidedBy.STORE);
      Reservation taken = admitted.reservation();
      await()
          .during(window)
          .atMost(Duration.ofSeconds(30))
          .until(() -> join(taken.hold(guard.claim(), false)) == 1);
      proxy.blackHole();
      Verdict meanwhile = join(fallback.decide(order(guard), Mode.ACQUIRE));
      assertThat(meanwhile.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
      assertThat(meanwhile.outcome()).isEqualTo(Outcome.DUPLICATE);
    }
  }

  /** Once it has ended, the fallback admits the next one. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theFallbackKnowsThatItIsFree(boolean released) {
    try (FaultProxy proxy = new FaultProxy(new InetSocketAddress(uri.getHost(), uri.getPort()));
        LimitStore fallback = new FallbackStore(storeOver(proxy, patient()), new MemoryStore())) {
      Reservation taken = join(fallback.decide(order(GUARD), Mode.ACQUIRE)).reservation();
      assertThat(join(released ? taken.release() : taken.hold(Duration.ZERO, true))).isEqualTo(1);
      proxy.blackHole();
      Verdict next = join(fallback.decide(order(GUARD), Mode.ACQUIRE));
      assertThat(next.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
      assertThat(next.allowed()).isTrue();
    }
  }

  /** Its method is not entered, so the client has to be able to repeat it. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isFreeWhereRedisHasTakenItForACallThatTheFallbackHasDenied(boolean claimed) {
    RuleStack guard = claimed ? GUARD : PLAIN;
    RedisSettings hasty = new RedisSettings(settings.prefix(), Duration.ofMillis(200));
    try (FaultProxy proxy = new FaultProxy(new InetSocketAddress(uri.getHost(), uri.getPort()));
        LimitStore fallback =
            new FallbackStore(
                storeOver(proxy, hasty),
                new MemoryStore(),
                policy -> Fallback.DENY,
                new FallbackCounts())) {
      proxy.delay(Duration.ofSeconds(2));
      assertThat(join(fallback.decide(order(guard), Mode.ACQUIRE)).outcome())
          .isEqualTo(Outcome.UNAVAILABLE);
      await().atMost(Duration.ofSeconds(10)).until(() -> redis.sync().exists(key()) == 1);
      proxy.pass();
      await().atMost(Duration.ofSeconds(10)).until(() -> redis.sync().exists(key()) == 0);
      assertThat(order(store, guard).allowed()).isTrue();
    }
  }

  @Test
  void isHeldInMemoryAnyway() {
    LimitStore memory = new MemoryStore();
    Reservation taken = order(memory, GUARD).reservation();
    assertThat(join(taken.hold(DAY, true))).isEqualTo(1);
    assertThat(order(memory, GUARD).allowed()).isFalse();
    assertThat(join(taken.release())).isEqualTo(1);
    assertThat(order(memory, GUARD).allowed()).isTrue();
  }
}
