// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SharedConnectionTest {

  private static final Duration HEALS_WITHIN = Duration.ofSeconds(5);

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("calls", SlidingWindowLogRule.of(5, Duration.ofHours(1))), Subject.global());

  private RedisProcess redis = RedisProcess.onFreePort();
  private SharedConnection connection;

  @AfterEach
  void close() {
    if (connection != null) {
      connection.close();
    }
    redis.close();
  }

  @Test
  void itIsWarmWhenTheFirstAttemptHasSucceeded() {
    redis.start();

    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);
    assertThat(connection.commands().scriptExists(decideSha(), refundSha()).toCompletableFuture())
        .succeedsWithin(HEALS_WITHIN)
        .isEqualTo(List.of(true, true));
  }

  @Test
  void itConnectsByItselfOnceRedisIsThere() {
    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(false);
    assertDisconnected();

    redis.start();

    await().atMost(HEALS_WITHIN).until(this::isConnected);
  }

  @Test
  void itConnectsAgainAfterALoss() {
    redis.start();
    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);

    redis.kill();
    await().atMost(HEALS_WITHIN).until(() -> !isConnected());
    assertDisconnected();

    redis.start();
    await().atMost(HEALS_WITHIN).until(this::isConnected);
  }

  /** However many calls wait for the connection. */
  @Test
  void theScriptsAreThereBeforeTheFirstDecisionAfterALoss() {
    redis.start();
    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);
    RedisStore store = new RedisStore(connection, RedisSettings.defaults());

    for (int loss = 0; loss < 3; loss++) {
      redis.kill();
      redis.start(); // has no scripts loaded
      await()
          .pollInterval(Duration.ofMillis(1))
          .atMost(HEALS_WITHIN)
          .ignoreExceptions()
          .until(() -> store.decide(CALL, Mode.PEEK).toCompletableFuture().join().allowed());
    }

    String statistics = connection.commands().info("commandstats").toCompletableFuture().join();
    assertThat(statistics).contains("cmdstat_evalsha:").doesNotContain("cmdstat_eval:");
    assertThat(connection.commands().scriptExists(decideSha(), refundSha()).toCompletableFuture())
        .succeedsWithin(HEALS_WITHIN)
        .isEqualTo(List.of(true, true));
  }

  /** The target may have changed: sentinels, or a name, may give another primary. */
  @Test
  void aConnectionToADemotedNodeIsReopened() {
    redis.start();
    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);
    Long before = connection.commands().clientId().toCompletableFuture().join();

    connection.renew();

    await()
        .atMost(HEALS_WITHIN)
        .until(
            () ->
                isConnected()
                    && !connection
                        .commands()
                        .clientId()
                        .toCompletableFuture()
                        .join()
                        .equals(before));
  }

  @Test
  void aConnectionThatCannotBeWarmedIsNotHandedOut() {
    redis = RedisProcess.onFreePort("--rename-command", "EVALSHA", "").start();

    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(false);

    assertDisconnected();
    assertThat(connectedClients()).as("the test's own, and the next attempt").isLessThan(3);
  }

  @Test
  void aRedisThatAcceptsAndNeverAnswersEndsTheAttempt() {
    redis.start();
    redis.suspend();

    assertThat(open().firstAttempt()).succeedsWithin(Duration.ofSeconds(3)).isEqualTo(false);
    assertDisconnected();

    redis.resume();
    await().atMost(HEALS_WITHIN).until(this::isConnected);
  }

  @Test
  void aClosedOneTriesNoMore() {
    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(false);
    connection.close();

    redis.start();

    // Longer than the longest pause between two attempts.
    await()
        .during(Duration.ofMillis(1_100))
        .atMost(HEALS_WITHIN)
        .until(() -> connectedClients() == 1);
  }

  private SharedConnection open() {
    connection = SharedConnection.open(RedisURI.create(redis.uri()), RedisSettings.defaults());
    return connection;
  }

  private void assertDisconnected() {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> connection.commands())
        .withMessage("Redis at 127.0.0.1:%s is not connected", redis.port())
        .satisfies(e -> assertThat(e.reason()).isEqualTo(FailureReason.DISCONNECTED));
  }

  private boolean isConnected() {
    try {
      return connection.commands().ping().toCompletableFuture().join().equals("PONG");
    } catch (RuntimeException notNow) {
      return false;
    }
  }

  private long connectedClients() {
    RedisClient client = RedisClient.create(redis.uri());
    try (var own = client.connect()) {
      return own.sync().clientList().lines().count();
    } finally {
      client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
  }

  private static String decideSha() {
    return DecisionScripts.load().decide().sha();
  }

  private static String refundSha() {
    return DecisionScripts.load().refund().sha();
  }
}
