// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Instances that count for themselves share a limit without communication. */
class ShareStoreTest {

  private static final Duration HOUR = Duration.ofHours(1);

  @ParameterizedTest
  @CsvSource({"10,1,10", "10,2,5", "10,3,4", "9,3,3", "1,3,1", "2,3,1", "1000000,7,142858"})
  void eachGetsItsShareRoundedUp(long count, int instances, long share) {
    Verdict verdict = decide(new ShareStore(new MemoryStore(), instances), call(count), 1);

    RuleVerdict rule = verdict.rules().get(0);
    assertThat(rule.rule().count()).isEqualTo(share);
    assertThat(rule.rule().name()).isEqualTo(count + "-per-3600s");
    assertThat(rule.rule().window()).isEqualTo(HOUR);
    assertThat(rule.remaining()).isEqualTo(share - 1);
  }

  @ParameterizedTest
  @CsvSource({"10,3,12", "1,3,3", "100,7,105", "9,3,9"})
  void togetherTheyAdmitNoMoreThanInstancesTimesTheShare(long count, int instances, long bound) {
    List<LimitStore> all =
        Stream.<LimitStore>generate(() -> new ShareStore(new MemoryStore(), instances))
            .limit(instances)
            .toList();
    long admitted = 0;
    for (LimitStore each : all) {
      while (decide(each, call(count), 1).allowed()) {
        admitted++;
      }
    }

    assertThat(admitted).isEqualTo(bound);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void togetherTheyRefillABucketAtItsOwnRate(boolean greedy) {
    AtomicLong clock = new AtomicLong();
    TokenBucketRule bucket = TokenBucketRule.of(12, 6, Duration.ofMinutes(1)).startingWith(6);
    LimitRequest call = call(greedy ? bucket : bucket.byInterval());
    List<LimitStore> all =
        Stream.<LimitStore>generate(() -> new ShareStore(new MemoryStore(10, clock::get), 3))
            .limit(3)
            .toList();
    assertThat(admitted(all, call)).isEqualTo(6);
    clock.addAndGet(Duration.ofHours(2).toNanos() / 1_000);
    assertThat(admitted(all, call)).isEqualTo(6); // without calls for long: new again
    clock.addAndGet(Duration.ofMinutes(3).toNanos() / 1_000);
    assertThat(admitted(all, call)).isEqualTo(12);
    for (int i = 0; i < 4; i++) { // 18 tokens come back, and there is room for 12
      clock.addAndGet(Duration.ofMinutes(3).toNanos() / 1_000);
      assertThat(admitted(all, call)).isEqualTo(12);
    }
    clock.addAndGet(Duration.ofMinutes(1).toNanos() / 1_000);
    assertThat(admitted(all, call)).isEqualTo(greedy ? 6 : 0);
  }

  private static int admitted(List<LimitStore> all, LimitRequest call) {
    int admitted = 0;
    for (LimitStore each : all) {
      while (decide(each, call, 1).allowed()) {
        admitted++;
      }
    }
    return admitted;
  }

  @Test
  void aBucketWhoseShareWouldBeTooSlowForARuleKeepsItsRate() {
    TokenBucketRule yearly = TokenBucketRule.of(10, 100, Duration.ofDays(300));

    Verdict verdict = decide(new ShareStore(new MemoryStore(), 2), call(yearly), 1);

    assertThat(verdict.rules().get(0).rule()).isEqualTo(yearly.withCount(5));
  }

  /** Together they let as many depart as one would, and as many wait. */
  @Test
  void eachLetsItsShareWaitAndDepart() {
    LeakyBucketRule bucket =
        LeakyBucketRule.of(2, Duration.ofSeconds(1), 10, Duration.ofSeconds(10));
    LimitStore each = new ShareStore(new MemoryStore(10, () -> 0), 3);

    for (int i = 0; i <= 4; i++) {
      assertThat(decide(each, call(bucket), 1).delay()).isEqualTo(Duration.ofMillis(1_500L * i));
    }
    assertThat(decide(each, call(bucket), 1).outcome()).isEqualTo(Outcome.LIMITED);
  }

  @Test
  void aLeakyBucketWhoseShareWouldBeTooSlowForARuleKeepsItsRate() {
    LeakyBucketRule yearly =
        LeakyBucketRule.of(1, Duration.ofDays(300), 10, Duration.ofSeconds(10));

    Verdict verdict = decide(new ShareStore(new MemoryStore(), 2), call(yearly), 1);

    assertThat(verdict.rules().get(0).rule()).isEqualTo(yearly.withQueue(5));
  }

  @Test
  void aBanIsNotDivided() {
    Policy policy = Policy.of("sms", rule(2)).withBan(BanRule.of(2, HOUR, HOUR));
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "ada"));
    LimitStore store = new ShareStore(new MemoryStore(), 2);

    assertThat(decide(store, call, 2).outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(decide(store, call, 2).ban()).contains(HOUR);
  }

  @Test
  void theVerdictBearsThePolicyAsItIs() {
    LimitRequest call = call(10);

    assertThat(decide(new ShareStore(new MemoryStore(), 3), call, 1).policy())
        .isSameAs(call.policy());
  }

  @Test
  void aCallThatCostsMoreThanAShareIsDenied() {
    LimitStore store = new ShareStore(new MemoryStore(), 3);

    assertThat(decide(store, call(10), 4).outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(decide(store, call(10), 5).outcome()).isEqualTo(Outcome.LIMITED);
  }

  @Test
  void duplicateGuardsAreWhole() {
    LimitStore store = new ShareStore(new MemoryStore(), 3);
    LimitRequest submission =
        LimitRequest.of(
            Policy.of("orders", rule(10)).withDuplicates(SlidingWindowLogRule.of(2, HOUR)),
            new Subject("user", "ada"));

    assertThat(decide(store, submission, 1).allowed()).isTrue();
    assertThat(decide(store, submission, 1).allowed()).isTrue();
    assertThat(decide(store, submission, 1).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  @Test
  void takenUnitsCanBeRefundedAndReset() {
    LimitStore store = new ShareStore(new MemoryStore(), 5);
    Verdict only = decide(store, call(5), 1);
    assertThat(decide(store, call(5), 1).allowed()).isFalse();

    assertThat(only.reservation().refund()).isCompletedWithValue(1L);
    assertThat(decide(store, call(5), 1).allowed()).isTrue();

    store.reset(List.of(call(5).charge(0).key()));
    assertThat(decide(store, call(5), 1).allowed()).isTrue();
  }

  @Test
  void aShareCountsTheSameCallsAsTheWholeAndIsObservedLikeIt() {
    LimitStore store = new ShareStore(new MemoryStore(), 2);
    Policy failures = Policy.of("login", rule(2)).withCounting(Counting.FAILURES);
    LimitRequest call = LimitRequest.of(failures, new Subject("user", "ada"));

    Verdict good = decide(store, call, 1);
    assertThat(decide(store, call, 1).allowed()).isFalse();
    assertThat(decide(store, call.observe(), 1).allowed()).isTrue();
    assertThat(good.reservation().settle(Completion.succeeded())).isCompletedWithValue(1L);
    assertThat(decide(store, call, 1).allowed()).isTrue();
  }

  @Test
  void placesForCallsInFlightAreDivided() {
    LimitStore store = new ShareStore(new MemoryStore(), 3);

    assertThat(decide(store, call(ConcurrencyLimitRule.of(4)), 1).rules().get(0).remaining())
        .isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1})
  void thereIsOneInstanceOrMore(int instances) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ShareStore(new MemoryStore(), instances))
        .withMessage("Limits divided among %s instances: use 1 or more".formatted(instances));
  }

  private static Verdict decide(LimitStore store, LimitRequest call, int cost) {
    return store.decide(call.withCost(cost), Mode.ACQUIRE).toCompletableFuture().join();
  }

  private static Rule rule(long count) {
    return SlidingWindowLogRule.of(count, HOUR);
  }

  private static LimitRequest call(long count) {
    return call(rule(count));
  }

  private static LimitRequest call(Rule rule) {
    return LimitRequest.of(Policy.of("sms", rule), new Subject("user", "ada"));
  }

  @Test
  void bansAreLiftedInTheStoreBehind() {
    Policy policy =
        Policy.of("banning", SlidingWindowLogRule.of(10, HOUR)).withBan(BanRule.of(1, HOUR, HOUR));
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "ada"));
    LimitStore share = new ShareStore(new MemoryStore(), 2);
    assertThat(decide(share, call, 6).outcome()).isEqualTo(Outcome.BANNED);

    assertThat(share.liftBans(List.of(call.charge(0).key()))).isCompleted();

    assertThat(decide(share, call, 1).allowed()).isTrue();
  }
}
