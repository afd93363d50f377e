// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.LeakyBucketRule;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The value of a ban in Redis, and its key. */
class RedisBanTest extends RedisStoreBench {

  private static final long SLACK_MILLIS = 1_000;
  private static final Subject ADA = new Subject("user", "ada");
  private static final Policy UNBANNED = Policy.of("policy", rule(2, MINUTE));
  private static final LimitRequest CALL =
      LimitRequest.of(UNBANNED.withBan(BanRule.of(2, MINUTE, HOUR)), ADA);

  private static StateKey ban(LimitRequest call) {
    return call.charge(0).key().ban();
  }

  /** The names of all keys of a subject, behind the hash. */
  private List<String> names(LimitRequest call) {
    String common = new String(redis.name(new StateKey(ban(call).tag(), "")));
    return TestRedis.keys(redis.commands(), common + "*").stream()
        .map(name -> new String(name).substring(common.length()))
        .sorted()
        .toList();
  }

  private void assertBanLives(Duration expected) {
    long life =
        redis.commands().pttl(redis.name(ban(CALL))) - TestRedis.EXTRA_LIFE_MILLIS - SLACK_MILLIS;
    assertThat(life).isBetween(expected.toMillis() - 60_000, expected.toMillis());
  }

  private void assertBanned(LimitRequest call, Duration rest) {
    Verdict verdict = acquire(call);
    assertThat(verdict.outcome()).isEqualTo(Outcome.BANNED);
    assertThat(verdict.ban()).contains(rest);
  }

  @Test
  void aBanHasAKeyOnceThereIsAViolationAndLiftingItIsItsRemoval() {
    LimitRequest unbanned = LimitRequest.of(UNBANNED, ADA);
    acquire(1, unbanned);
    acquire(1, CALL);
    assertLimited(unbanned);
    String value = CALL.charge(0).key().name();
    assertThat(value).startsWith("r.");
    assertThat(names(CALL)).as("what shares a key with rules without a ban").containsOnly(value);
    assertLimited(CALL);
    assertThat(names(CALL)).containsExactly("r", value);
    assertBanned(CALL, HOUR);
    assertThat(names(CALL)).containsExactly("r", value);
    String counted = stored(CALL.charge(0).key()).orElseThrow();

    assertThat(store.liftBans(List.of(CALL.charge(0).key()))).succeedsWithin(MINUTE);

    assertThat(names(CALL)).containsExactly(value);
    assertThat(stored(CALL.charge(0).key())).contains(counted);
    assertLimited(CALL);
  }

  /** For as long as violations count, then for as long as the next ban grows. */
  @Test
  void itsKeyLivesForAsLongAsItIsNeeded() {
    acquire(2, CALL);
    assertLimited(CALL);
    assertBanLives(MINUTE);
    assertThat(redis.commands().pttl(redis.name(CALL.charge(0).key()))).isPositive();
    advance(SECOND);
    assertBanned(CALL, HOUR);
    assertBanLives(HOUR.multipliedBy(2));
    advance(HOUR);
    acquire(2, CALL);
    assertLimited(CALL);
    assertBanLives(HOUR);
  }

  @Test
  void theKindsOfCallsHaveBansOfTheirOwn() {
    BanRule hour = BanRule.of(1, MINUTE, HOUR);
    List<LimitRequest> calls = new ArrayList<>();
    for (Counting counting : Counting.values()) {
      calls.add(LimitRequest.of(UNBANNED.withCounting(counting).withBan(hour), ADA));
    }
    LeakyBucketRule waits = LeakyBucketRule.of(1, SECOND, 2, SECOND);
    calls.add(LimitRequest.of(Policy.of("policy", waits).withBan(hour), ADA));
    assertThat(calls.stream().map(call -> ban(call).name()))
        .containsExactlyInAnyOrder("r", "f", "s", "w");
    LimitRequest all = calls.stream().reduce(LimitRequest::and).orElseThrow();
    for (LimitRequest call : calls) {
      for (LimitRequest other : calls) {
        assertThat(peek(other).ban()).isEmpty();
      }
      assertBanned(call.withCost(9), HOUR);
      for (LimitRequest other : calls) {
        assertThat(peek(other).ban().isPresent()).isEqualTo(other == call);
      }
      assertThat(acquire(all).outcome()).isEqualTo(Outcome.BANNED);
      assertThat(store.liftBans(List.of(call.charge(0).key()))).succeedsWithin(MINUTE);
    }
    assertThat(acquire(all).allowed()).isTrue();
    assertThat(acquire(all.withCost(9)).outcome()).isEqualTo(Outcome.BANNED);
    for (LimitRequest call : calls) {
      assertThat(peek(call).ban()).as("each has its violation").contains(HOUR);
    }
  }

  /** Whatever lies there, a call is admitted once the longest ban is over. */
  @Tag("matrix")
  @Test
  void invalidBytesAreNoLastingBan() {
    double now = START_MICROS;
    double hour = HOUR.toNanos() / 1_000.0;
    double[] numbers = {
      0,
      -1,
      1,
      0.5,
      1e15,
      now - 1,
      now,
      now + 1,
      now + hour,
      0x1p53 - 1,
      0x1p53,
      1e300,
      -1e300,
      Double.NaN,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY
    };
    List<byte[]> values = new ArrayList<>();
    for (double one : numbers) {
      for (double other : numbers) {
        values.add(value(one, other, 0, 0));
        values.add(value(now - 1, one, other, 1));
        values.add(value(now - 1, 0, one, other));
        values.add(value(one, 1, other, 1e300));
        values.add(value(one, 0, other, 1e300));
      }
    }
    for (int length : new int[] {0, 1, 8, 31, 33, 64, 5_000}) {
      values.add(new byte[length]);
    }
    BanRule even = new BanRule(2, MINUTE, SECOND, 1, HOUR);
    for (BanRule rule : List.of(BanRule.of(2, MINUTE, HOUR).growing(2, HOUR), even)) {
      LimitRequest call = LimitRequest.of(UNBANNED.withBan(rule), ADA);
      for (byte[] value : values) {
        redis.setClock(START_MICROS);
        redis.commands().del(redis.name(CALL.charge(0).key()));
        redis.commands().set(redis.name(ban(call)), value);
        for (int i = 0; i < 4; i++) {
          assertThat(acquireWithin(call).ban().orElse(Duration.ZERO))
              .isBetween(Duration.ZERO, HOUR);
        }
        advance(HOUR);
        assertThat(acquireWithin(call).allowed()).isTrue();
        assertThat(acquireWithin(call).allowed()).isTrue();
        assertThat(acquireWithin(call).allowed()).isFalse();
      }
    }
  }

  private Verdict acquireWithin(LimitRequest call) {
    return store
        .decide(call, Mode.ACQUIRE)
        .toCompletableFuture()
        .orTimeout(20, TimeUnit.SECONDS)
        .join();
  }

  private static byte[] value(double since, double violations, double end, double level) {
    return ByteBuffer.allocate(32)
        .putDouble(since)
        .putDouble(violations)
        .putDouble(end)
        .putDouble(level)
        .array();
  }

  /** Nothing is counted meanwhile, and rules without a ban do not read it. */
  @Test
  void anotherTypeUnderItsKeyIsAnErrorUntilItIsRemoved() {
    acquire(1, CALL);
    redis.commands().lpush(redis.name(ban(CALL)), new byte[] {1});
    for (int i = 0; i < 3; i++) {
      assertThat(store.decide(CALL, Mode.ACQUIRE))
          .failsWithin(MINUTE)
          .withThrowableThat()
          .havingRootCause()
          .withMessageContaining("WRONGTYPE");
    }
    LimitRequest unbanned = LimitRequest.of(UNBANNED, ADA);
    assertThat(remaining(unbanned)).isEqualTo(1);
    assertThat(store.liftBans(List.of(CALL.charge(0).key()))).succeedsWithin(MINUTE);
    acquire(1, CALL);
    assertLimited(CALL);
  }
}
