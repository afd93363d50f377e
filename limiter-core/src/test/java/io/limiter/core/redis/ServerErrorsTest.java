// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The errors of a real Redis affect the calls that they concern, and no others. */
class ServerErrorsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final RedisSettings SETTINGS = new RedisSettings("errors:", PATIENCE);
  private static final LimitRequest CALL =
      LimitRequest.of(Policy.of("sms", rule(50, Duration.ofHours(1))), new Subject("user", "ada"));
  private static final LimitRequest OTHER_CALL =
      LimitRequest.of(CALL.policy(), new Subject("user", "bob"));

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final RedisClient admin = RedisClient.create(redis.uri());
  private final RedisCommands<String, String> commands = admin.connect().sync();
  private final RedisStore store =
      new RedisStore(SharedConnection.open(RedisURI.create(redis.uri()), SETTINGS), SETTINGS);

  @BeforeEach
  void connect() {
    await().atMost(PATIENCE).until(() -> failure(OTHER_CALL) == null);
  }

  @AfterEach
  void close() {
    store.close();
    admin.shutdown();
    redis.close();
  }

  @Test
  void aBrokenKeyHurtsItsOwnerAlone() {
    byte[] key = SETTINGS.name(CALL.charge(0).key());
    commands.lpush(new String(key, StandardCharsets.US_ASCII), "not ours");

    for (int i = 0; i < 20; i++) {
      StoreException failure = failure(CALL);
      assertThat(failure == null ? FailureReason.ERROR : failure.reason())
          .isEqualTo(FailureReason.ERROR);
      assertThat(failure(OTHER_CALL)).isNull();
    }
  }

  /** Null if it is decided. */
  private StoreException failure(LimitRequest request) {
    CompletableFuture<Verdict> decision = store.decide(request, Mode.RECORD).toCompletableFuture();
    try {
      decision.join();
      return null;
    } catch (CompletionException e) {
      return (StoreException) e.getCause();
    }
  }
}
