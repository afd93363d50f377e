// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.testing.RedisProcess;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Redis does not roll back a script that fails. So everything that can fail must fail before the
 * first write: keys of another type, and the lack of memory.
 */
class AllOrNothingTest {

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final RedisProcess process = RedisProcess.onFreePort().start();
  private final TestRedis redis = new TestRedis(RedisURI.create(process.uri()), "test:");
  private final RedisStore store = redis.store();

  AllOrNothingTest() {
    redis.setClock(1_700_000_000_000_000L);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
    process.close();
  }

  private Verdict acquire(LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  /** The limiter's values, without the clock. */
  private Map<String, String> values() {
    Map<String, String> values = new TreeMap<>();
    for (byte[] key : TestRedis.keys(redis.commands(), "test:{*")) {
      boolean ours = redis.commands().type(key).equals("string");
      values.put(
          new String(key, StandardCharsets.US_ASCII),
          ours ? HexFormat.of().formatHex(redis.commands().get(key)) : "another type");
    }
    return values;
  }

  private void breakKey(LimitRequest call) {
    byte[] key = redis.name(call.charge(0).key());
    redis.commands().del(key);
    redis.commands().lpush(key, TestRedis.bytes("x"));
  }

  private static void assertFails(CompletionStage<?> stage) {
    assertThat(stage)
        .failsWithin(PATIENCE)
        .withThrowableThat()
        .withCauseInstanceOf(StoreException.class);
  }

  /** Values that are written as a whole, that are written in place, and of other rules. */
  static Stream<LimitRequest> firsts() {
    return Stream.of(
        call("first", rule(9, HOUR)),
        call("first", rule(500, HOUR)).withCost(150),
        call("first", FixedWindowRule.of(9, HOUR)),
        call("first", rule(500, HOUR), TokenBucketRule.of(500, 1, HOUR)).withCost(150),
        LimitRequest.of(
            Policy.of("policy", rule(9, HOUR)).withBan(BanRule.of(3, HOUR, HOUR)),
            new Subject("user", "first")));
  }

  @ParameterizedTest
  @MethodSource("firsts")
  void aDecisionThatMeetsAnotherTypeTakesNothing(LimitRequest first) {
    LimitRequest second = call("second", rule(9, HOUR));
    assertThat(acquire(first).allowed()).isTrue();
    breakKey(second);
    Map<String, String> before = values();
    for (Mode mode : List.of(Mode.ACQUIRE, Mode.RECORD)) {
      assertFails(store.decide(first.withCost(1).and(second), mode));
    }
    assertThat(values()).isEqualTo(before);
  }

  @ParameterizedTest
  @MethodSource("firsts")
  void aRefundThatMeetsAnotherTypeGivesNothingBack(LimitRequest first) {
    LimitRequest second = call("second", rule(9, HOUR));
    Verdict verdict = acquire(first.and(second));
    breakKey(second);
    Map<String, String> before = values();
    assertFails(verdict.reservation().refund());
    assertThat(values()).isEqualTo(before);
  }

  @Test
  void aRenewalThatMeetsAnotherTypeRenewsNothing() {
    LimitRequest first = call("first", ConcurrencyLimitRule.of(2, MINUTE));
    LimitRequest second = call("second", ConcurrencyLimitRule.of(2, MINUTE));
    Verdict verdict = acquire(first.and(second));
    redis.setClock(redis.clock() + 1_000_000);
    breakKey(second);
    Map<String, String> before = values();
    assertFails(verdict.reservation().renewPermits());
    assertThat(values()).isEqualTo(before);
  }

  /** They are sent once, by a command of their own, and lost with it. */
  @Test
  void unitsOfThePastThatMeetAnotherTypeAreLost() {
    LimitRequest call = call("first", rule(9, HOUR));
    Charge past = call.withCost(4).charge(0);
    LimitRequest bringing = call.after(List.of(new PastCharge(past, SECOND)));
    breakKey(call);
    assertFails(store.decide(bringing, Mode.ACQUIRE));
    redis.commands().del(redis.name(call.charge(0).key()));
    assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(8);
    assertThat(acquire(bringing).rules().get(0).remaining()).isEqualTo(7);
  }

  /** Redis lets a script that has written continue, so its first write fails. */
  @ParameterizedTest
  @MethodSource("firsts")
  void withoutMemoryNothingIsTakenAndARefundIsWholeOrNothing(LimitRequest first) {
    LimitRequest second = call("second", rule(500, HOUR));
    LimitRequest both = first.withCost(1).and(second);
    assertThat(acquire(second.withCost(150)).allowed()).isTrue();
    Verdict taken = acquire(both);
    Map<String, String> before = values();
    redis.commands().configSet("maxmemory", "1");
    assertFails(store.decide(both, Mode.ACQUIRE));
    assertThat(values()).isEqualTo(before);
    assertFailsOrNot(taken.reservation().refund());
    Map<String, String> after = values();
    redis.commands().configSet("maxmemory", "0");
    if (!after.equals(before)) { // all of it
      assertThat(acquire(both).rules())
          .extracting(rule -> rule.remaining())
          .isEqualTo(taken.rules().stream().map(rule -> rule.remaining()).toList());
    }
  }

  private static void assertFailsOrNot(CompletionStage<Long> stage) {
    var unused = stage.handle((units, failure) -> 0).toCompletableFuture().join();
  }
}
