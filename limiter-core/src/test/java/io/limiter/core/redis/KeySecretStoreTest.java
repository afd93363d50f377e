// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisSettings.KeySecret;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.Mode;
import io.limiter.core.testing.RedisFixture;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Instances with a secret, with another, and without, on one real Redis. */
class KeySecretStoreTest {

  private static final Duration HOUR = Duration.ofHours(1);
  private static final Subject ADA = new Subject("user", "ada");
  private static final LimitRequest TWICE = LimitRequest.of(Policy.of("sms", rule(2, HOUR)), ADA);

  private final RedisClient client = RedisClient.create(RedisURI.create(RedisFixture.uri()));
  private final StatefulRedisConnection<byte[], byte[]> connection =
      client.connect(ByteArrayCodec.INSTANCE);
  private final String prefix = "test-" + UUID.randomUUID().toString().substring(0, 8) + ":";
  private final RedisSettings open = new RedisSettings(prefix, Duration.ofSeconds(10));
  private final RedisStore first = instance(open.withKeySecret(secret("first")));
  private final RedisStore alike = instance(open.withKeySecret(secret("first")));
  private final RedisStore other = instance(open.withKeySecret(secret("other")));
  private final RedisStore without = instance(open);

  private static KeySecret secret(String which) {
    return KeySecret.of("the secret of the " + which);
  }

  private RedisStore instance(RedisSettings settings) {
    return new RedisStore(
        new ConnectionSource() {
          @Override
          public RedisClusterAsyncCommands<byte[], byte[]> commands() {
            return connection.async();
          }

          @Override
          public void close() {}
        },
        settings);
  }

  @AfterEach
  void close() {
    names().forEach(name -> connection.sync().del(name.getBytes(StandardCharsets.US_ASCII)));
    List.of(first, alike, other, without).forEach(RedisStore::close);
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }

  private List<String> names() {
    return TestRedis.keys(connection.sync(), prefix + "*").stream()
        .map(name -> new String(name, StandardCharsets.US_ASCII))
        .toList();
  }

  private static Verdict acquire(RedisStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  private static Outcome outcome(RedisStore store, LimitRequest call) {
    return acquire(store, call).outcome();
  }

  @Test
  void instancesWithOneSecretShareALimit() {
    assertThat(outcome(first, TWICE)).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(alike, TWICE)).isEqualTo(Outcome.ALLOWED);

    assertThat(outcome(first, TWICE)).isEqualTo(Outcome.LIMITED);
    assertThat(outcome(alike, TWICE)).isEqualTo(Outcome.LIMITED);
    assertThat(names()).hasSize(1);
  }

  @Test
  void instancesWithTwoSecretsOrNoneDoNot() {
    for (RedisStore store : List.of(first, other, without)) {
      assertThat(outcome(store, TWICE.withCost(2))).isEqualTo(Outcome.ALLOWED);
      assertThat(outcome(store, TWICE)).isEqualTo(Outcome.LIMITED);
    }
    assertThat(names()).hasSize(3);
  }

  @Test
  void refundsAndRenewalsFindTheKeysOfTheDecision() {
    Policy mixed =
        Policy.of("mixed", rule(2, HOUR), TokenBucketRule.of(2, 1, HOUR))
            .withDuplicates(rule(1, HOUR));
    LimitRequest submitted = LimitRequest.of(mixed, ADA, Optional.of("order 1"));
    Reservation reservation = acquire(first, submitted).reservation();
    assertThat(outcome(alike, submitted)).isEqualTo(Outcome.DUPLICATE);
    assertThat(reservation.release().toCompletableFuture().join()).isOne();
    assertThat(reservation.refund().toCompletableFuture().join()).isOne();
    assertThat(acquire(alike, submitted).rules()).allMatch(rule -> rule.remaining() == 1);

    Policy failures = Policy.of("login", rule(1, HOUR)).withCounting(Counting.FAILURES);
    Reservation login = acquire(first, LimitRequest.of(failures, ADA)).reservation();
    assertThat(login.settle(Completion.succeeded()).toCompletableFuture().join()).isOne();

    Reservation running =
        acquire(first, LimitRequest.of(Policy.of("export", ConcurrencyLimitRule.of(1)), ADA))
            .reservation();
    assertThat(running.renewPermits().toCompletableFuture().join()).isOne();
    assertThat(running.settle(Completion.succeeded()).toCompletableFuture().join()).isOne();

    List<StateKey> keys = submitted.allCharges().stream().map(Charge::key).toList();
    alike.reset(keys).toCompletableFuture().join();
    assertThat(names()).isEmpty();
  }
}
