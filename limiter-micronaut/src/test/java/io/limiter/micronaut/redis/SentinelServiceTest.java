// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import io.limiter.core.testing.TypedCommand;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A service whose redis.uri names sentinels, with a connection on each of its event loops. */
class SentinelServiceTest {

  private static final Duration HEALS_WITHIN = Duration.ofSeconds(15);

  private final SentinelGroup group = SentinelGroup.start();
  private final Service service = Service.start(group.primary(), "redis.uri", group.uri());

  @BeforeEach
  void connected() {
    await().atMost(HEALS_WITHIN).until(service::decidesInRedis);
  }

  @AfterEach
  void close() {
    service.close();
    group.close();
  }

  @Test
  void thePrimaryThatTheyNameDecides() {
    group.replicas().forEach(RedisProcess::suspend);

    assertThat(service.call().decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(service.used()).isEqualTo(1);
  }

  @Test
  @Tag("faults")
  void allEventLoopsFollowThemToAnotherPrimary() throws IOException {
    RedisProcess lost = group.primary();
    long eventLoops = connections(lost);
    assertThat(eventLoops).isGreaterThan(1);
    lost.kill();
    service.fallsBack(5, FailureReason.DISCONNECTED, FailureReason.BREAKER_OPEN);
    RedisProcess named = group.awaitPrimaryInsteadOf(lost);

    await().atMost(HEALS_WITHIN).until(() -> connections(named) == eventLoops);
    await().atMost(HEALS_WITHIN).until(service::decidesInRedis);
    assertThat(service.callTogether(20))
        .allSatisfy(verdict -> assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE));
    assertThat(service.used()).as("these, and the five that memory admitted").isEqualTo(25);
  }

  /** Those of the service: not of replicas, of sentinels, or of this test. */
  private static long connections(RedisProcess server) throws IOException {
    return TypedCommand.reply(server.port(), "CLIENT LIST")
        .lines()
        .filter(line -> line.contains(" flags=N ") && line.contains(" name= "))
        .filter(line -> !line.contains(" cmd=client"))
        .count();
  }
}
