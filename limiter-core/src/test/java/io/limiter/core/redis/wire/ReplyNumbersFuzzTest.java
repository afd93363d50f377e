// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static io.limiter.core.testing.SaneVerdicts.assertSane;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.FadingCounter;
import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.redis.FakeRedis;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.ZoneId;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Replies of the right length with arbitrary numbers: random bits, NaN, infinite, negative, huge,
 * or a valid reply with a few changed bytes. The seed is the same each time, unless {@code
 * -Dlimiter.seed} gives another.
 */
@Tag("matrix")
class ReplyNumbersFuzzTest {

  private static final int REPLIES = Integer.getInteger("limiter.replies", 60_000);
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final double NOW = 1.7e15;
  private static final byte[] STATUSES = {
    ChargeReply.ADMITTED, ChargeReply.ADMITTED, ChargeReply.LIMITED, ChargeReply.BANNED
  };
  private static final double[] STRANGE = {
    0,
    -1,
    -0.0,
    1,
    0.5,
    2,
    NOW,
    -NOW,
    NOW + 1,
    NOW - 1,
    6e7,
    6e7 + 1,
    0x1p31,
    0x1p53,
    0x1p53 - 1,
    0x1p63,
    -0x1p63,
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    Double.MAX_VALUE,
    Double.MIN_VALUE
  };

  private static final Subject ADA = new Subject("user", "ada");
  private static final List<LimitRequest> CALLS =
      List.of(
          call(Policy.of("log", SlidingWindowLogRule.of(3, MINUTE))),
          call(
              Policy.of(
                      "logs",
                      SlidingWindowLogRule.of(3, MINUTE),
                      SlidingWindowLogRule.of(9, MINUTE))
                  .withDuplicates(SlidingWindowLogRule.of(1, MINUTE))),
          call(Policy.of("permits", ConcurrencyLimitRule.of(3))),
          call(Policy.of("counter", SlidingWindowCounterRule.of(9, MINUTE))),
          call(Policy.of("window", FixedWindowRule.of(9, MINUTE))),
          call(
              Policy.of(
                  "aligned",
                  FixedWindowRule.aligned(9, Duration.ofDays(1), ZoneId.of("Europe/Rome")))),
          call(Policy.of("bucket", TokenBucketRule.of(9, 3, MINUTE))),
          call(
              Policy.of(
                  "intervals", TokenBucketRule.of(9, 3, MINUTE).byInterval().startingWith(2))),
          call(Policy.of("queue", LeakyBucketRule.of(2, MINUTE, 5, MINUTE))),
          call(Policy.of("queue", LeakyBucketRule.of(2, MINUTE, 5, MINUTE).withFair(true))),
          call(Policy.of("own", CustomRule.of(new FadingCounter(), 9, MINUTE, 2.0))),
          call(
              Policy.of(
                      "mixed", SlidingWindowLogRule.of(3, MINUTE), TokenBucketRule.of(9, 3, MINUTE))
                  .withBan(BanRule.of(2, MINUTE, MINUTE))));

  private final FakeRedis redis = new FakeRedis();
  private final FallbackCounts counts = new FallbackCounts();
  private final FallbackStore store =
      new FallbackStore(
          new RedisStore(
              redis.source(() -> {}),
              new RedisSettings("t:", Duration.ofSeconds(10))
                  .withAlgorithms(List.of(new FadingCounter()))),
          new MemoryStore(),
          policy -> Fallback.LOCAL,
          counts);

  private static LimitRequest call(Policy policy) {
    return LimitRequest.of(policy, ADA);
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void everyCallIsDecidedByPossibleNumbers() {
    long seed = Long.getLong("limiter.seed", 20_260_101L);
    Random random = new Random(seed);
    Map<DecidedBy, Integer> decided = new EnumMap<>(DecidedBy.class);
    for (int i = 0; i < REPLIES; i++) {
      LimitRequest call = CALLS.get(random.nextInt(CALLS.size())).withCost(1 + random.nextInt(10));
      Mode mode = Mode.values()[random.nextInt(3)];
      byte[] reply = reply(call, random);
      CompletableFuture<Verdict> verdict = store.decide(call, mode).toCompletableFuture();
      int last = redis.sent().size() - 1;
      redis.sent().subList(0, last).forEach(past -> past.complete(new byte[0])); // is not read
      redis.sent(last).complete(reply);
      redis.sent().clear();
      try {
        assertThat(verdict).isDone();
        assertSane(verdict.join());
        if (verdict.join().decidedBy() == DecidedBy.STORE) {
          assertThat(verdict.join().allowed()).isEqualTo(admits(reply, call));
        }
        decided.merge(verdict.join().decidedBy(), 1, Integer::sum);
      } catch (AssertionError | RuntimeException e) {
        String what = "%s, cost %d".formatted(call.policy().name(), call.charge(0).cost());
        fail("Seed %d, reply %d to %s, %s".formatted(seed, i, what, mode), e);
      }
    }
    assertThat(decided.get(DecidedBy.STORE)).as("numbers that can be").isGreaterThan(REPLIES / 100);
    assertThat(decided.get(DecidedBy.FALLBACK)).as("others").isGreaterThan(REPLIES / 10);
    assertThat(counts.of(FailureReason.ERROR))
        .as("errors")
        .isEqualTo(decided.get(DecidedBy.FALLBACK).longValue());
  }

  private static int length(Charge charge) {
    return new EncodedStack(charge.stack(), List.of(new FadingCounter()), () -> (long) NOW)
        .replyLength();
  }

  /** Whether all statuses of a reply admit the call. */
  private static boolean admits(byte[] reply, LimitRequest call) {
    boolean admits = true;
    int at = 0;
    for (Charge charge : call.allCharges()) {
      admits &= reply[at] == ChargeReply.ADMITTED;
      at += length(charge);
    }
    return admits;
  }

  private static byte[] reply(LimitRequest call, Random random) {
    int sort = random.nextInt(4);
    int length = call.allCharges().stream().mapToInt(ReplyNumbersFuzzTest::length).sum();
    ByteBuffer reply = ByteBuffer.allocate(length);
    if (sort == 0) {
      random.nextBytes(reply.array());
      return reply.array();
    }
    for (Charge charge : call.allCharges()) {
      int end = reply.position() + length(charge);
      reply.limit(end).put(STATUSES[random.nextInt(STATUSES.length)]);
      put(reply, sort, random);
      reply.position(end);
    }
    if (random.nextInt(4) == 0) {
      reply.array()[random.nextInt(length)] = (byte) random.nextInt();
    }
    return reply.array();
  }

  private static void put(ByteBuffer reply, int sort, Random random) {
    reply.putDouble(NOW);
    int strange = sort == 1 ? 100 : 5; // of a hundred
    while (reply.remaining() >= 8) {
      if (sort == 3 && reply.remaining() >= 12 && random.nextBoolean()) {
        reply.putInt(random.nextInt(12) - 2); // units left, were this a log
      } else if (random.nextInt(100) < strange) {
        reply.putDouble(STRANGE[random.nextInt(STRANGE.length)]);
      } else {
        reply.putDouble(
            random.nextBoolean() ? NOW - random.nextInt(60_000_000) : random.nextInt(9));
      }
    }
  }
}
