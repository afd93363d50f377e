// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.state.Cells;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The single value that Redis holds of a subject whose rules include both logs and cells. */
class RedisValuesTest extends RedisStoreBench {

  private static final LimitRequest BOTH = call(rule(200, MINUTE), FixedWindowRule.of(200, HOUR));

  private byte[] name() {
    return name(BOTH);
  }

  private byte[] name(LimitRequest call) {
    return redis.name(call.charge(0).key());
  }

  private byte[] value() {
    return redis.commands().get(name());
  }

  private void assertLivesFor(Duration atLeast) {
    assertThat(redis.commands().pttl(name()) - TestRedis.EXTRA_LIFE_MILLIS)
        .isBetween(
            atLeast.toMillis() - 60_000, atLeast.toMillis() + atLeast.toMillis() / 16 + 1_000);
  }

  @Test
  void aMixedStackHasOneKeyWithTheLifeOfItsLongestRule() {
    acquire(1, BOTH);
    assertThat(TestRedis.keys(redis.commands(), new String(name()) + "*")).hasSize(1);
    assertLivesFor(HOUR);
    assertThat(store.reset(List.of(BOTH.charge(0).key()))).succeedsWithin(SECOND.multipliedBy(10));
    assertThat(value()).isNull();
  }

  @Test
  void aLongLogIsWrittenInPlaceBehindTheCells() {
    acquire(1, BOTH.withCost(150));
    int length = value().length;
    for (int i = 0; i < 10; i++) {
      advance(TICK);
      acquire(1, BOTH);
      assertThat(value()).as("there is room for 18").hasSize(length);
    }
    acquire(1, BOTH.withCost(10));
    assertThat(value()).hasSizeGreaterThan(length);
    assertThat(peek(BOTH).rules()).extracting(RuleVerdict::remaining).containsOnly(30L);
    assertLimited(BOTH.withCost(31));
    advance(MINUTE);
    assertThat(peek(BOTH).rules()).extracting(RuleVerdict::remaining).containsExactly(200L, 30L);
  }

  /** The most that eight rules and a ban can keep, before a log that is as long as a page. */
  @Test
  void theMostThatThereCanBeIsRead() {
    List<Rule> rules = new ArrayList<>(List.of(rule(118, HOUR)));
    rules.add(LeakyBucketRule.of(118, SECOND, 118, MINUTE));
    for (int i = 0; rules.size() < 8; i++) {
      rules.add(CustomRule.of(new FadingCounter(), 118, HOUR, 2.0).withName("own-" + i));
    }
    Policy policy =
        Policy.of("policy", rules.toArray(Rule[]::new)).withBan(BanRule.of(5, MINUTE, HOUR));
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    for (int left = 117; left >= 0; left--) {
      assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(left);
    }
    assertThat(acquire(call).violated()).as("all but the queue").hasSize(7);
    int doubles =
        new Cells(RuleStack.of(rules.subList(1, 2))).unused().length
            + 6 * (1 + CustomAlgorithm.MAX_STATE);
    assertThat(36 + 4 + 8 + 8 * doubles + 8 * 118).as("what is read first").isLessThan(2_048);
  }

  @Test
  void garbageInTheCellsIsNoPermanentDenialAndLeavesTheLog() {
    Random random = new Random(1);
    LimitRequest call =
        call(rule(200, MINUTE), FixedWindowRule.of(2, MINUTE), TokenBucketRule.of(2, 1, SECOND));
    for (int i = 0; i < 200; i++) {
      redis.commands().del(name(call));
      acquire(2, call);
      byte[] value = redis.commands().get(name(call));
      for (int b = random.nextInt(5); b >= 0; b--) {
        value[random.nextInt(36 + 4 + 8 + 16 + 24)] = (byte) random.nextInt(256);
      }
      redis.commands().set(name(call), value);
      try {
        Verdict found = acquire(call);
        assertThat(found.retryAfter().orElse(Duration.ZERO)).isLessThanOrEqualTo(MINUTE);
      } catch (CompletionException removed) {
        assertThat(removed).hasCauseInstanceOf(StoreException.class);
      }
      advance(
          MINUTE.multipliedBy(2)); // a window that begins in the future may become the present one
      try {
        assertAllowed(call);
      } catch (CompletionException removed) {
        assertAllowed(call);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {44, 45, 60, 70, 1_000, 3_000})
  void foreignValuesAreNoPermanentDenialOfMixedRules(int length) {
    LimitRequest call = call(rule(2, MINUTE), FixedWindowRule.of(3, MINUTE));
    byte[] garbage = new byte[length];
    Random random = new Random(length);
    for (int i = 0; i < 50; i++) {
      random.nextBytes(garbage);
      if (i % 2 == 0) { // as if it were a value of now
        ByteBuffer.wrap(garbage).putDouble(START_MICROS).putDouble(0).putDouble(START_MICROS);
      }
      redis.commands().set(name(call), garbage);
      try {
        acquire(2, call);
      } catch (CompletionException removed) { // once
        assertThat(removed).hasCauseInstanceOf(StoreException.class);
        acquire(2, call);
      }
      assertLimited(call);
    }
  }

  /** Every number is below 2^53, so the last unit of the largest count is a unit. */
  @ParameterizedTest
  @MethodSource("largest")
  void theLastUnitOfTheLargestCountIsTheLast(Rule rule) {
    LimitRequest call = call(rule);
    assertAllowed(call);
    byte[] value = redis.commands().get(name(call));
    int used = value.length - (rule instanceof SlidingWindowCounterRule ? 16 : 8);
    ByteBuffer.wrap(value).putDouble(used, (double) (Rule.MAX_COUNT - 1));
    redis.commands().set(name(call), value);

    assertThat(remaining(call)).isEqualTo(1);
    assertLimited(call.withCost(Charge.MAX_COST));
    Verdict last = acquire(call);
    assertThat(last.outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(last.rules().get(0).remaining()).isZero();
    assertLimited(call);
    assertThat(refund(last)).isEqualTo(1);
    assertThat(remaining(call)).isEqualTo(1);
  }

  static Stream<Rule> largest() {
    return Stream.of(
        FixedWindowRule.of(Rule.MAX_COUNT, HOUR),
        FixedWindowRule.aligned(Rule.MAX_COUNT, CalendarPeriod.MONTH, ZoneOffset.UTC),
        SlidingWindowCounterRule.of(Rule.MAX_COUNT, HOUR),
        new TokenBucketRule("bucket", Rule.MAX_COUNT, Rule.MAX_COUNT, HOUR, false, Rule.MAX_COUNT));
  }
}
