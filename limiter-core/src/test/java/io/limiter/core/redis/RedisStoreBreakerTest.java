// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** While a Redis fails, it is not asked; with simulated replies. */
class RedisStoreBreakerTest {

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("sms", SlidingWindowLogRule.of(5, Duration.ofHours(1))),
          new Subject("user", "ada"));

  private final FakeRedis redis = new FakeRedis();
  private final AtomicLong nanos = new AtomicLong();
  private final CompletableFuture<Boolean> firstAttempt = new CompletableFuture<>();
  private boolean connected = true;
  private final NodeBreakers breakers =
      new NodeBreakers(
          node ->
              new Breaker(
                  new NodeBreakers.BreakerLog(LoggerFactory.getLogger(Breaker.class), node),
                  nanos::get,
                  () -> 0.5));
  private final RedisStore store =
      new RedisStore(
          new ConnectionSource() {
            @Override
            public RedisClusterAsyncCommands<byte[], byte[]> commands() {
              if (!connected) {
                throw new StoreException(
                    FailureReason.DISCONNECTED, "Redis is not connected", null);
              }
              return redis.commands();
            }

            @Override
            public CompletionStage<Boolean> firstAttempt() {
              return firstAttempt;
            }

            @Override
            public void close() {}
          },
          new RedisSettings("t:", Duration.ofSeconds(10))
              .withPolicyDeadlines(Map.of("impatient", Duration.ofMillis(1))),
          DecisionScripts.load(),
          breakers);

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void nothingIsSentWhileItIsOpen() {
    failTimes(5);

    assertFails(decide(), FailureReason.BREAKER_OPEN);
    assertFails(store.reset(List.of(CALL.charge(0).key())), FailureReason.BREAKER_OPEN);
    assertThat(redis.sent()).hasSize(5);
  }

  /** While a service starts, its connections are being opened; then the lack of one is a loss. */
  @Test
  void callsBeforeTheFirstConnectionWasTriedFindNoLoss() {
    connected = false;
    for (int i = 0; i < 20; i++) {
      assertFails(decide(), FailureReason.DISCONNECTED);
    }
    assertThat(breakers.isLost("Redis")).isFalse();

    firstAttempt.complete(false);
    for (int i = 0; i < 5; i++) {
      assertThat(breakers.isLost("Redis")).isFalse();
      assertFails(decide(), FailureReason.DISCONNECTED);
    }
    assertThat(breakers.isLost("Redis")).isTrue();
  }

  /** The probe is the decision, not the record before it. */
  @Test
  void unitsToRecordGoWithTheCallThatIsAdmitted() {
    failTimes(5);
    LimitRequest bringing =
        CALL.after(List.of(new PastCharge(CALL.charge(0), Duration.ofSeconds(1))));
    assertFails(store.decide(bringing, Mode.ACQUIRE), FailureReason.BREAKER_OPEN);
    assertThat(redis.sent()).hasSize(5);
    nanos.addAndGet(Duration.ofSeconds(1).toNanos());

    CompletionStage<?> probe = store.decide(bringing, Mode.ACQUIRE);

    assertThat(redis.sent()).as("the record and the decision").hasSize(7);
    assertThat(probe.toCompletableFuture()).isNotDone();
    redis.sent(5).completeExceptionally(new RedisException("Connection disconnected"));
    assertThat(probe.toCompletableFuture()).as("nothing waits for the record").isNotDone();
  }

  @Test
  void callsThatWereUnderWayHaveTheirOwnReasonAndCloseNothing() {
    decide();
    decide();
    failTimes(5);
    CompletionStage<?> late = decide();
    redis.sent(0).complete(new byte[0]);
    redis.sent(1).completeExceptionally(new RedisException("Connection disconnected"));

    assertFails(late, FailureReason.BREAKER_OPEN);
    assertFails(decide(), FailureReason.BREAKER_OPEN);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "LOADING Redis is loading the dataset in memory",
        "READONLY You can't write against a read only replica. script: 7f0a, on @user_script:1.",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "BUSY Redis is busy running a script.",
        "MISCONF Redis is configured to save RDB snapshots",
        "NOPERM this user has no permissions to run the 'evalsha' command",
        "NOAUTH Authentication required.",
        "CLUSTERDOWN The cluster is down",
        "MASTERDOWN Link with MASTER is down",
        "NOREPLICAS Not enough good replicas to write.",
        "ERR Error running script (call to f_7f0a): @user_script:12: @user_script: 12: -OOM command not allowed when used memory > 'maxmemory'. "
      })
  void errorsOfTheServerOpenIt(String error) {
    for (int i = 0; i < 5; i++) {
      CompletionStage<?> decision = decide();
      last().completeExceptionally(new RedisCommandExecutionException(error));
      assertFails(decision, FailureReason.ERROR);
    }

    assertFails(decide(), FailureReason.BREAKER_OPEN);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "ERR Error running script (call to f_7f0a): @user_script:12: WRONGTYPE Operation against a key ",
        "ERR user_script:12: attempt to perform arithmetic on a nil value",
        "CROSSSLOT Keys in request don't hash to the same slot",
        "ERR LOADING OOM READONLY",
        ""
      })
  void aCallersBrokenKeyDoesNotCloseTheDoorToOthers(String error) {
    for (int i = 0; i < 100; i++) {
      CompletionStage<?> decision = decide();
      last().completeExceptionally(new RedisCommandExecutionException(error));
      assertFails(decision, FailureReason.ERROR);
    }

    assertThat(redis.sent()).hasSize(100);
  }

  @Test
  void anErrorAboutOneKeyShowsAProbeThatTheServerIsThere() {
    failTimes(5);
    nanos.addAndGet(Duration.ofSeconds(1).toNanos());
    decide();
    last().completeExceptionally(new RedisCommandExecutionException("WRONGTYPE of this key"));

    assertThat(decide()).isNotCompleted();
  }

  /** Requesting a missing connection takes no time. */
  @Test
  void aCallIsSentAsSoonAsThereIsAConnectionAgain() {
    connected = false;
    for (int i = 0; i < 100; i++) {
      assertFails(decide(), FailureReason.DISCONNECTED);
    }

    connected = true;

    assertThat(decide()).isNotCompleted();
    assertThat(redis.sent()).hasSize(1);
  }

  @Test
  void anOpenOneIsProbedAsSoonAsThereIsAConnection() {
    failTimes(5);
    connected = false;
    assertFails(decide(), FailureReason.BREAKER_OPEN);
    nanos.addAndGet(Duration.ofSeconds(1).toNanos());
    for (int i = 0; i < 3; i++) {
      assertFails(decide(), FailureReason.DISCONNECTED);
    }

    connected = true;
    decide();
    last().completeExceptionally(new RedisCommandExecutionException("WRONGTYPE"));

    assertThat(decide()).isNotCompleted();
    assertThat(redis.sent()).hasSize(7);
  }

  @Test
  void aCallerThatGivesUpEarlierHidesNoFailure() {
    for (int i = 0; i < 5; i++) {
      CompletionStage<?> decision = decide();
      decision.toCompletableFuture().completeExceptionally(new TimeoutException("of the caller"));
      assertThat(((Future<?>) decision).cancel(false)).isFalse();
      last().completeExceptionally(new RedisException("Connection disconnected"));
    }

    assertFails(decide(), FailureReason.BREAKER_OPEN);
  }

  @Test
  void aPolicyMayHaveADeadlineOfItsOwn() {
    CompletionStage<?> patient = decide();
    CompletionStage<?> impatient =
        store.decide(
            LimitRequest.of(
                Policy.of("impatient", SlidingWindowLogRule.of(5, Duration.ofHours(1))),
                new Subject("user", "ada")),
            Mode.ACQUIRE);

    assertThat(impatient)
        .failsWithin(Duration.ofSeconds(5))
        .withThrowableThat()
        .withRootCauseInstanceOf(StoreException.class)
        .havingRootCause()
        .withMessage("Redis did not answer within 1 ms");
    assertThat(patient).isNotCompleted();
  }

  private void failTimes(int calls) {
    for (int i = 0; i < calls; i++) {
      decide();
      last().completeExceptionally(new RedisException("Connection disconnected"));
    }
  }

  private CompletionStage<?> decide() {
    return store.decide(CALL, Mode.ACQUIRE);
  }

  private FakeRedis.Sent last() {
    return redis.sent(redis.sent().size() - 1);
  }

  private static void assertFails(CompletionStage<?> decision, FailureReason reason) {
    assertThat(decision.toCompletableFuture())
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.reason()).isEqualTo(reason));
  }
}
