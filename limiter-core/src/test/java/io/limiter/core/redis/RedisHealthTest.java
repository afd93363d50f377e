// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.TypedCommand;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The health of Redis, checked over the connections of the calls. */
class RedisHealthTest {

  private static final RedisSettings SETTINGS =
      new RedisSettings("health:", Duration.ofMillis(300));

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final RedisStore store =
      new RedisStore(SharedConnection.open(RedisURI.create(redis.uri()), SETTINGS), SETTINGS);

  @BeforeEach
  void connect() {
    await().until(() -> check().failure().isEmpty());
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  private RedisHealth.NodeStatus check() {
    return store.health().check().toCompletableFuture().join().get(0);
  }

  private String name() {
    return "Redis at 127.0.0.1:" + redis.port();
  }

  private Optional<FailureReason> failure() {
    return check().failure().map(StoreException::reason);
  }

  @Test
  void oneThatAnswersHasNoFailureAndKeepsNoKeyForLong() {
    assertThat(check()).isEqualTo(new RedisHealth.NodeStatus(name(), Optional.empty(), false));
    assertThat(store.health().check().toCompletableFuture().join()).hasSize(1);
    await().untilAsserted(() -> assertThat(admin("DBSIZE")).isEqualTo(":0\r\n"));
  }

  private String admin(String command) throws IOException {
    return TypedCommand.reply(redis.port(), command);
  }

  /** It would not decide a call. */
  @ParameterizedTest
  @CsvSource({
    "CONFIG SET maxmemory 1, CONFIG SET maxmemory 0",
    "CONFIG SET min-replicas-to-write 1, CONFIG SET min-replicas-to-write 0",
    "REPLICAOF 127.0.0.1 1, REPLICAOF NO ONE",
    "ACL SETUSER default -evalsha, ACL SETUSER default +evalsha",
    "ACL SETUSER default -time, ACL SETUSER default +time",
    "ACL SETUSER default -set, ACL SETUSER default +set",
  })
  void oneThatRefusesDecisionsHasAFailure(String fault, String remedy) throws IOException {
    assertThat(admin(fault)).startsWith("+OK");
    assertThat(failure()).contains(FailureReason.ERROR);

    assertThat(admin(remedy)).startsWith("+OK");
    await().untilAsserted(() -> assertThat(failure()).isEmpty());
  }

  @Test
  void theBreakerOfASilentNodeOpensAndClosesWithoutAnyCall() {
    redis.suspend();

    assertThat(failure()).contains(FailureReason.TIMEOUT);
    await().until(() -> check().lost());
    assertThat(failure()).isPresent();

    redis.resume();
    await()
        .untilAsserted(
            () ->
                assertThat(check())
                    .isEqualTo(new RedisHealth.NodeStatus(name(), Optional.empty(), false)));
  }

  @Test
  void oneThatIsGoneIsLostUntilItAnswers() {
    redis.kill();

    await().until(() -> failure().equals(Optional.of(FailureReason.DISCONNECTED)));
    await().until(() -> check().lost());

    redis.start();
    await()
        .untilAsserted(
            () ->
                assertThat(check())
                    .isEqualTo(new RedisHealth.NodeStatus(name(), Optional.empty(), false)));
  }
}
