// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStoreContract;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedisStoreTest implements LimitStoreContract, RedisHarness {

  private static final long A_DAY_MILLIS = 86_400_000;
  private static final long SLACK_MILLIS = 1_000;

  private static TestRedis redis;
  private RedisStore store;
  private final long started = System.nanoTime();

  @BeforeAll
  static void connect() {
    redis = new TestRedis();
  }

  @AfterAll
  static void disconnect() {
    redis.close();
  }

  @BeforeEach
  void open() {
    store = redis.store();
    redis.setClock(START_MICROS);
  }

  @AfterEach
  void close() {
    store.close();
    redis.forgetAll();
  }

  @Override
  public LimitStore store() {
    return store;
  }

  @Override
  public TestRedis redis() {
    return redis;
  }

  /**
   * A plan has the periods, and the change of clocks, around the clock of the process; the call is
   * sent again with others.
   */
  @ParameterizedTest
  @CsvSource({
    "-P400D, true",
    "-P2D, true",
    "P2D, true",
    "P400D, true",
    "-P3650D, false",
    "-P280D, false",
    "-P2D, false",
    "P200D, false",
    "P400D, false"
  })
  void periodsAreThoseOfRedisWhateverTheClockOfTheProcessShows(Duration ahead, boolean calendar) {
    ZoneId berlin = ZoneId.of("Europe/Berlin");
    Rule daily =
        calendar
            ? FixedWindowRule.aligned(3, CalendarPeriod.DAY, berlin)
            : FixedWindowRule.aligned(3, Duration.ofDays(1), berlin);
    LimitRequest call = call(daily, rule(100, HOUR));
    at("2024-02-29T22:59:59Z");
    try (RedisStore other = redis.storeOfProcess(ahead)) {
      acquire(2, call);
      LimitRequest guarded = call.and(call("another", daily));
      assertThat(join(other.decide(guarded, Mode.ACQUIRE)).allowed()).isTrue();
      assertThat(join(other.decide(call, Mode.ACQUIRE)).retryAfter()).contains(SECOND);
      assertThat(join(other.decide(call, Mode.PEEK)).rules().get(0).remaining()).isZero();
      advance(SECOND);
      Verdict taken = join(other.decide(call, Mode.ACQUIRE));
      assertThat(taken.rules().get(0).remaining()).isEqualTo(2);
      assertThat(refund(taken)).isEqualTo(1);
      LimitRequest alone = call("a third", daily);
      assertThat(join(other.lease(alone.withCost(2), SECOND)).isGranted()).isTrue();
      assertThat(remaining(alone)).isEqualTo(1);
    }
  }

  /** The time of a value continues from its last write. */
  @Test
  void aClockThatIsSetBackByAMonthBeginsNoPeriodAgain() {
    LimitRequest call = call(FixedWindowRule.aligned(3, CalendarPeriod.DAY, ZoneId.of("UTC")));
    at("2024-03-31T12:00:00Z");
    acquire(2, call);
    at("2024-03-01T12:00:00Z");
    acquire(call);
    assertThat(acquire(call).retryAfter()).contains(HOUR.multipliedBy(12));
    advance(HOUR.multipliedBy(12));
    assertAllowed(call);
  }

  private static <T> T join(CompletionStage<T> answer) {
    return answer.toCompletableFuture().join();
  }

  /** As long as the longest period, and a day in which clocks may be set back. */
  @ParameterizedTest
  @CsvSource({"DAY, 48", "MONTH, 768", "YEAR, 8808"})
  void aPeriodOfTheCalendarIsKeptUntilItsEnd(CalendarPeriod period, long hours) {
    LimitRequest call = call(FixedWindowRule.aligned(3, period, ZoneId.of("Europe/Berlin")));
    assertAllowed(call);
    assertLives(call.charge(0), HOUR.multipliedBy(hours));
  }

  /** Until the last possible departure, also of a call that takes several. */
  @ParameterizedTest
  @ValueSource(ints = {1, 5})
  void aQueueExpiresSoonAfterItsLastDeparture(int cost) {
    LimitRequest call = call(LeakyBucketRule.of(2, SECOND, 30, SECOND.multipliedBy(10)));
    acquire(21 - cost, call);
    assertThat(acquire(call.withCost(cost)).allowed()).isTrue();
    long least = 10_500 + SLACK_MILLIS;
    long most = least + 10_500 / 16 + 1; // the script rounds up
    long life = millisToLive(call.charge(0));
    long taken = (System.nanoTime() - started) / 1_000_000 + 1;
    assertThat(life - TestRedis.EXTRA_LIFE_MILLIS).isBetween(least - taken, most);
  }

  /** So that a subject that calls rarely finds the tokens it has waited for. */
  @ParameterizedTest
  @CsvSource({"1, 3600", "400, 8000"})
  void aBucketThatDoesNotStartFullIsKeptForAnHourOrForTwiceTheTimeInWhichItFills(
      int seconds, long expected) {
    LimitRequest call =
        call(TokenBucketRule.of(10, 1, SECOND.multipliedBy(seconds)).startingWith(0));
    assertLimited(call);
    assertLives(call.charge(0), SECOND.multipliedBy(expected));
  }

  /** A shorter wait in the rules does not cut the existing queue short. */
  @Test
  void aQueueThatIsLongerThanItsRuleAllowsNowLivesAsLong() {
    LeakyBucketRule patient = LeakyBucketRule.of(1, SECOND, 20, MINUTE);
    LeakyBucketRule hasty = LeakyBucketRule.of(1, SECOND, 20, SECOND);
    acquire(15, call(patient));
    assertThat(record(call(hasty)).allowed()).isTrue();
    long life = millisToLive(call(hasty).charge(0));
    assertThat(life - TestRedis.EXTRA_LIFE_MILLIS).isBetween(60_000L, 66_000L);
  }

  private long millisToLive(Charge charge) {
    return redis.commands().pttl(redis.name(charge.key()));
  }

  private void setMillisToLive(Charge charge, long millis) {
    redis.commands().pexpire(redis.name(charge.key()), millis);
  }

  private static Stream<Rule> ofSixteenSeconds() {
    Duration window = SECOND.multipliedBy(16);
    return Stream.of(
        rule(100, window),
        FixedWindowRule.of(100, window),
        TokenBucketRule.of(100, 100, window),
        TokenBucketRule.of(100, 100, window).byInterval());
  }

  /** So it is longer by a sixteenth. */
  @ParameterizedTest
  @MethodSource("ofSixteenSeconds")
  void aTimeToLiveIsSetByTheFirstWriteInASixteenthOfTheWindow(Rule rule) {
    LimitRequest call = call(rule);
    assertAllowed(call);
    setMillisToLive(call.charge(0), A_DAY_MILLIS);
    advance(SECOND.minusNanos(1_000));
    assertAllowed(call);
    assertThat(millisToLive(call.charge(0))).isBetween(A_DAY_MILLIS - 60_000, A_DAY_MILLIS);
    advance(Duration.ofNanos(1_000));
    assertAllowed(call);
    assertLives(call.charge(0), rule.window());
  }

  /** Another count of a bucket is another time to live, and the buckets are one. */
  @Test
  void aTimeToLiveThatOtherRulesSetIsNotKept() {
    assertAllowed(call(TokenBucketRule.of(100, 1, SECOND)));
    LimitRequest larger = call(TokenBucketRule.of(120, 1, SECOND));
    assertAllowed(larger);
    assertLives(larger.charge(0), SECOND.multipliedBy(120));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 150})
  void everyKeyExpiresSoonAfterItsNewestUnitHasLeftTheLongestWindow(int units) {
    LimitRequest call = submit("form", rule(200, SECOND), rule(1_000, HOUR)).withCost(units);
    assertThat(record(call).allowed()).isTrue();
    assertLives(call.charge(0), HOUR);
    assertLives(call.charge(1), MINUTE);
  }

  /** Exact except for the time that this test has taken. */
  private void assertLives(Charge charge, Duration window) {
    long expected = window.toMillis() + window.toMillis() / 16 + SLACK_MILLIS;
    long life = millisToLive(charge) - TestRedis.EXTRA_LIFE_MILLIS;
    long taken = (System.nanoTime() - started) / 1_000_000 + 1;
    assertThat(life).isBetween(expected - taken, expected);
  }

  /** Of two counts in turn the larger need survives. */
  @Test
  void aSmallerBucketDoesNotShortenTheLifeOfALargerOne() {
    LimitRequest large = call(TokenBucketRule.of(100, 1, MINUTE));
    LimitRequest small = call(TokenBucketRule.of(10, 100, MINUTE));
    assertAllowed(large);
    assertAllowed(small);
    assertLives(small.charge(0), MINUTE.multipliedBy(100));
    assertThat(store.reset(List.of(small.charge(0).key()))).succeedsWithin(SECOND.multipliedBy(10));
    assertAllowed(small);
    assertLives(small.charge(0), SECOND.multipliedBy(6));
    assertAllowed(large);
    assertLives(large.charge(0), MINUTE.multipliedBy(100));
  }

  @Test
  void neitherADenialNorAPeekExtendsTheLifeOfAKey() {
    LimitRequest call = submit("form", rule(1, MINUTE));
    assertAllowed(call);
    setMillisToLive(call.charge(0), A_DAY_MILLIS);
    setMillisToLive(call.charge(1), A_DAY_MILLIS);
    assertLimited(call);
    peek(call);
    assertThat(millisToLive(call.charge(0))).isBetween(1L, A_DAY_MILLIS);
    assertThat(millisToLive(call.charge(1))).isBetween(1L, A_DAY_MILLIS);
  }

  @Test
  void aRefundLeavesTheTimeToLive() {
    LimitRequest call = call(rule(5, MINUTE));
    assertAllowed(call);
    advance(SECOND);
    Verdict verdict = acquire(call);
    setMillisToLive(call.charge(0), A_DAY_MILLIS);
    assertThat(refund(verdict)).isEqualTo(1);
    assertThat(millisToLive(call.charge(0))).isBetween(A_DAY_MILLIS - 60_000, A_DAY_MILLIS);
  }

  @Test
  void aKeyWhoseClockWasSetBackStillExpires() {
    LimitRequest call = call(rule(2, MINUTE));
    acquire(2, call);
    setMillisToLive(call.charge(0), 100 * A_DAY_MILLIS); // as it would appear to the earlier clock
    advance(HOUR.negated());
    assertLimited(call);
    assertLives(call.charge(0), MINUTE);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 48, 49, 60, 1_000, 10_000})
  void aForeignValueUnderAKeyIsNoPermanentDenial(int length) {
    LimitRequest call = call(rule(2, MINUTE), rule(150, HOUR));
    byte[] garbage = new byte[length];
    Random random = new Random(length);
    for (int i = 0; i < 20; i++) {
      random.nextBytes(garbage);
      redis.commands().set(redis.name(call.charge(0).key()), garbage);
      assertAllowed(call);
      assertAllowed(call);
      assertLimited(call);
    }
  }

  @Test
  void aHundredUnitsTakeNoMoreThanTwelveBytesEach() {
    Rule[] rules = {rule(1_000, MINUTE), rule(10_000, HOUR)};
    LimitRequest call = call(rules);
    for (int units = 1; units <= 1_000; units++) {
      assertAllowed(call);
      if (units % 50 == 0) {
        long bytes = redis.commands().strlen(redis.name(call.charge(0).key()));
        assertThat(bytes).as("%d units", units).isLessThan(units * 12L + 100);
      }
    }
  }

  @Test
  void aMissingScriptIsSentAgainAndDecidesOnce() {
    LimitRequest call = call(rule(2, MINUTE));
    redis.commands().scriptFlush();
    redis.setClock(START_MICROS);
    assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(1);
    redis.commands().scriptFlush();
    assertThat(store.reset(List.of(call.charge(0).key()))).succeedsWithin(SECOND.multipliedBy(10));
    assertThat(remaining(call)).isEqualTo(2);
  }

  @Test
  void aRenewedPermitLivesItsDurationAndASecondLonger() {
    LimitRequest call = call(ConcurrencyLimitRule.of(2, MINUTE));
    Verdict running = acquire(call);
    redis.commands().pexpire(redis.name(call.charge(0).key()), 10_000);
    assertThat(renew(running)).isEqualTo(1);
    assertLives(call.charge(0), MINUTE);
  }

  @Test
  void instancesShareTheCallsInFlight() {
    LimitRequest call = call(ConcurrencyLimitRule.of(2));
    try (RedisStore other = redis.store()) {
      Verdict here = acquire(call);
      Verdict there = other.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
      assertThat(there.allowed()).isTrue();
      assertLimited(call);
      assertThat(other.decide(call, Mode.ACQUIRE).toCompletableFuture().join().allowed()).isFalse();
      settle(there, Completion.succeeded());
      assertAllowed(call);
      settle(here, Completion.succeeded());
      assertThat(other.decide(call, Mode.ACQUIRE).toCompletableFuture().join().allowed()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 48, 49, 60, 1_000, 10_000})
  void aRenewalTakesItsPlaceWhateverOtherClientsWroteUnderItsKey(int length) {
    LimitRequest call = call(ConcurrencyLimitRule.of(1));
    byte[] garbage = new byte[length];
    Random random = new Random(length);
    for (int i = 0; i < 20; i++) {
      Verdict running = acquire(call);
      random.nextBytes(garbage);
      redis.commands().set(redis.name(call.charge(0).key()), garbage);
      assertThat(renew(running)).isEqualTo(1);
      assertLimited(call);
      assertThat(settle(running, Completion.succeeded())).isEqualTo(1);
      assertThat(stored(call)).containsOnly(Optional.empty());
    }
  }
}
