// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.SlidingWindowLog;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A Redis whose primary is lost, and named anew by its sentinels. */
class SentinelTest {

  /** A second until it is found lost, the election, and two seconds of our own. */
  private static final Duration HEALS_WITHIN = Duration.ofSeconds(15);

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("sentinel", SlidingWindowLog.of(100, Duration.ofHours(1))), Subject.global());

  private final SentinelGroup group = SentinelGroup.start();
  private final RedisSettings settings =
      new RedisSettings(RedisSettings.DEFAULT_PREFIX, Duration.ofMillis(500));
  private final SharedConnection connection =
      SharedConnection.open(RedisClients.create(), RedisURI.create(group.uri()), settings);
  private final RedisStore store = new RedisStore(connection, settings);

  @AfterEach
  void close() {
    store.close();
    group.close();
  }

  /** What the primary has counted and its replicas have is kept; at most the rest is lost. */
  @Test
  void decisionsGoOnWithTheNewPrimaryAndItsCounts() {
    assertThat(connection.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);
    for (int i = 0; i < 10; i++) {
      assertThat(decide()).isPresent();
    }
    RedisProcess lost = group.primary();
    await().atMost(HEALS_WITHIN).until(() -> remaining() == 90);

    lost.kill();
    await().atMost(HEALS_WITHIN).until(() -> decide().isPresent());

    // One sentinel may know of it a moment before another.
    await().atMost(HEALS_WITHIN).until(() -> group.primary().port() != lost.port());
    await().atMost(HEALS_WITHIN).until(() -> remaining() >= 0);
    assertThat(remaining()).isBetween(80L, 99L);
  }

  private Optional<Verdict> decide() {
    return ask(Mode.ACQUIRE);
  }

  private long remaining() {
    return ask(Mode.PEEK).map(verdict -> verdict.rules().get(0).remaining()).orElse(-1L);
  }

  private Optional<Verdict> ask(Mode mode) {
    try {
      return Optional.of(store.decide(CALL, mode).toCompletableFuture().join());
    } catch (CompletionException unanswered) {
      return Optional.empty();
    }
  }
}
