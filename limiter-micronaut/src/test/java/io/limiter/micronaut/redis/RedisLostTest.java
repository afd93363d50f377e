// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Redis is lost under use: calls are answered in time, and none is counted twice. */
@Tag("faults")
class RedisLostTest {

  private static final Duration HEALS_WITHIN = Duration.ofSeconds(5);

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final Service service = Service.start(redis);

  @BeforeEach
  void callOnce() {
    await().atMost(HEALS_WITHIN).until(service::decidesInRedis);
    await().until(() -> service.call().decidedBy() == DecidedBy.STORE);
  }

  @AfterEach
  void close() {
    service.close();
    redis.close();
  }

  @Test
  void aKilledRedisCostsNoCallItsAnswer() {
    redis.kill();

    service.fallsBack(5, FailureReason.DISCONNECTED);
  }

  @RepeatedTest(3) // whether the connection breaks or closes is chance
  void callsUnderWayWhenRedisIsKilledAreAnsweredAndNotSentAgain() {
    redis.suspend();
    List<CompletableFuture<Verdict>> underWay =
        Stream.generate(service::calling).limit(20).toList();
    redis.kill();
    assertThat(underWay)
        .allSatisfy(
            call ->
                assertThat(call)
                    .succeedsWithin(Duration.ofSeconds(1))
                    .extracting(verdict -> verdict.reason().orElseThrow())
                    .isEqualTo(FailureReason.DISCONNECTED));

    redis.start();
    await().atMost(HEALS_WITHIN).until(service::decidesInRedis);

    assertThat(service.used()).as("what memory has admitted").isEqualTo(20);
    assertThat(service.call().decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(service.used()).isEqualTo(21);
  }

  @Test
  void aSilentRedisCostsNoCallMoreThanTheDeadline() {
    redis.suspend();

    service.fallsBack(5, FailureReason.TIMEOUT);
  }

  @Test
  void commandsThatTimedOutRunAtMostOnceWhenRedisWakesUp() {
    long before = service.used();
    redis.suspend();
    service.fallsBack(5, FailureReason.TIMEOUT);

    redis.resume();
    await().atMost(HEALS_WITHIN).until(service::decidesInRedis);

    // They lay in Redis' own socket, so they ran there, once each. What asked Redis meanwhile had
    // with it what memory admitted for them, unless their late replies came first.
    assertThat(service.used()).isBetween(before + 5, before + 10);
    long used = service.used();
    assertThat(service.call().decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(service.used()).isEqualTo(used + 1);
  }
}
