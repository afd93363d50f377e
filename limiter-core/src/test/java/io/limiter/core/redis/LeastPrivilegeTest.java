// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.limiter.core.Charge;
import io.limiter.core.ConcurrencyLimit;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Receipt;
import io.limiter.core.Subject;
import io.limiter.core.TokenBucket;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A Redis user who may do nothing but what the limiter does, as docs/security.md has it. */
class LeastPrivilegeTest {

  /** Of docs/security.md. */
  private static final List<String> USER =
      List.of(
          "SETUSER",
          "limiter",
          "on",
          ">only-for-the-limiter",
          "resetkeys",
          "~limiter:*",
          "-@all",
          "+evalsha",
          "+eval",
          "+script|load",
          "+time",
          "+get",
          "+getrange",
          "+strlen",
          "+set",
          "+setrange",
          "+pexpire",
          "+del",
          "+unlink",
          "+ping",
          "+hello",
          "+auth",
          "+info");

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Subject ADA = new Subject("user", "ada");

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final RedisClient admin = RedisClient.create(redis.uri());

  @AfterEach
  void close() {
    admin.shutdown();
    redis.close();
  }

  private RedisStore store() {
    CommandArgs<String, String> user = new CommandArgs<>(StringCodec.UTF8);
    USER.forEach(user::add);
    admin.connect().sync().dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), user);
    RedisURI uri = RedisURI.create(redis.uri());
    uri.setUsername("limiter");
    uri.setPassword("only-for-the-limiter".toCharArray());
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, PATIENCE);
    SharedConnection connection = SharedConnection.open(RedisClients.create(), uri, settings);
    await().atMost(PATIENCE).until(() -> connection.firstAttempt().toCompletableFuture().join());
    return new RedisStore(connection, settings);
  }

  private static Verdict acquire(RedisStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  @Test
  void thatIsEnoughForAllThatTheLimiterDoes() {
    Policy mixed =
        Policy.of("mixed", rule(500, HOUR), TokenBucket.of(500, 1, HOUR))
            .withDuplicates(rule(1, HOUR));
    LimitRequest call = LimitRequest.of(mixed, ADA, Optional.of("order")).withCost(200);
    LimitRequest running = LimitRequest.of(Policy.of("export", ConcurrencyLimit.of(1)), ADA);
    try (RedisStore store = store()) {
      Receipt receipt = acquire(store, call).receipt(); // a long log, which is written in place
      assertThat(receipt.release().toCompletableFuture().join()).isOne();
      assertThat(acquire(store, call).allowed()).isTrue();
      assertThat(receipt.refund().toCompletableFuture().join()).isEqualTo(200);
      Receipt lease = acquire(store, running).receipt();
      assertThat(lease.renew().toCompletableFuture().join()).isOne();
      assertThat(lease.refund().toCompletableFuture().join()).isOne();
      store
          .reset(call.allCharges().stream().map(Charge::key).toList())
          .toCompletableFuture()
          .join();
      assertThat(admin.connect().sync().dbsize()).isZero();
    }
  }
}
