// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
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
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Instances with a secret, with another, and without, on one real Redis. */
class KeySecretStoreTest {

  private static final Duration HOUR = Duration.ofHours(1);
  private static final Subject ADA = new Subject("user", "ada");
  private static final LimitRequest TWICE = LimitRequest.of(Policy.of("sms", rule(2, HOUR)), ADA);

  private final TestRedis redis = new TestRedis();
  private final RedisSettings open = redis.settings();
  private final RedisStore first = instance(open.withKeySecret(secret("first")));
  private final RedisStore alike = instance(open.withKeySecret(secret("first")));
  private final RedisStore other = instance(open.withKeySecret(secret("other")));
  private final RedisStore without = instance(open);

  private static KeySecret secret(String which) {
    return KeySecret.of("the secret of the " + which);
  }

  private RedisStore instance(RedisSettings settings) {
    return new RedisStore(redis.source(), settings);
  }

  @AfterEach
  void close() {
    List.of(first, alike, other, without).forEach(RedisStore::close);
    redis.close();
  }

  private List<byte[]> names() {
    return TestRedis.keys(redis.commands(), open.prefix() + "*");
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
