// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStoreContract;
import io.limiter.core.Limiter;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryStoreTest implements LimitStoreContract {

  private long clock = 1_700_000_000_000_000L;
  private final MemoryStore store = new MemoryStore(1_000, () -> clock);

  @Override
  public LimitStore store() {
    return store;
  }

  @Override
  public void advance(Duration duration) {
    clock += MICROSECONDS.convert(duration);
  }

  @Override
  public Instant now() {
    return Instant.EPOCH.plus(clock, ChronoUnit.MICROS);
  }

  @Override
  public Optional<String> stored(StateKey key) {
    return store.dump(key);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE, -30_000_000, Long.MAX_VALUE - 90_000_000})
  void theClockMayStartAnywhereAndWrapAround(long start) {
    clock = start;
    LimitRequest call = call(rule(2, MINUTE));
    for (int i = 0; i < 10; i++) {
      assertAllowed(call);
      advance(SECOND.multipliedBy(15));
      assertAllowed(call);
      advance(SECOND.multipliedBy(44));
      assertThat(acquire(call).retryAfter()).contains(SECOND);
      advance(MINUTE);
    }
  }

  @Test
  void aSubjectOfABucketIsNewAgainWhenItStaysAwayForMoreThanAnHour() {
    LimitRequest call = call(TokenBucketRule.of(10, 10, SECOND).startingWith(0));
    assertLimited(call);
    advance(HOUR);
    assertThat(remaining(call)).isEqualTo(10);
    advance(SECOND);
    assertThat(remaining(call)).isZero();
  }

  /** It is kept longer if its ban is needed: otherwise it would be denied again after each. */
  @Test
  void aSubjectIsNotNewAgainWhileItsBanIsNeeded() {
    Policy policy =
        Policy.of("policy", TokenBucketRule.of(10, 10, SECOND).startingWith(0))
            .withBan(BanRule.of(1, SECOND, HOUR.multipliedBy(3)));
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.BANNED);
    advance(HOUR.multipliedBy(3));
    assertAllowed(call);
  }

  @Test
  void everyStageIsComplete() {
    LimitRequest call = call(rule(2, MINUTE));
    Limiter limiter = new Limiter(store);
    assertComplete(limiter.acquire(call));
    assertComplete(limiter.refund(limiter.peek(call).toCompletableFuture().join()));
    assertComplete(limiter.reset(call));
  }

  private static void assertComplete(CompletionStage<?> stage) {
    assertThat(stage.toCompletableFuture()).isCompleted();
  }

  @Test
  void theDefaultClockRuns() {
    try (MemoryStore fresh = new MemoryStore()) {
      Limiter limiter = new Limiter(fresh);
      LimitRequest call = call(rule(1, MINUTE));
      assertThat(limiter.acquire(call).toCompletableFuture().join().allowed()).isTrue();
      Duration wait = limiter.peek(call).toCompletableFuture().join().retryAfter().orElseThrow();
      assertThat(wait).isPositive().isLessThanOrEqualTo(MINUTE);
    }
  }

  @Test
  void theDefaultClockIsTheTimeOfDay() {
    try (MemoryStore fresh = new MemoryStore()) {
      LimitRequest call = call(FixedWindowRule.aligned(1, Duration.ofDays(1), ZoneOffset.UTC));
      Duration untilMidnight =
          fresh
              .decide(call, Mode.PEEK)
              .toCompletableFuture()
              .join()
              .rules()
              .get(0)
              .effectiveWindow();
      Instant midnight = Instant.now().plus(untilMidnight);
      assertThat(Duration.between(midnight.truncatedTo(ChronoUnit.HOURS), midnight))
          .isLessThan(SECOND.multipliedBy(30));
      assertThat(midnight.atOffset(ZoneOffset.UTC).getHour()).isZero();
    }
  }

  @Test
  void anAlgorithmThatFailsDeniesNoCallAndCountsNothing() {
    for (CustomAlgorithm.Evaluation wrong :
        List.of(
            new CustomAlgorithm.Evaluation(Double.NaN, 1, 1, new double[1]),
            new CustomAlgorithm.Evaluation(9, 1, 1, new double[2]),
            new CustomAlgorithm.Evaluation(9, 1, 1, new double[] {Double.POSITIVE_INFINITY}),
            new CustomAlgorithm.Evaluation(0, Double.NaN, 1, new double[1]))) {
      assertFails(call(rule(9, MINUTE), CustomRule.of(new Answering(() -> wrong), 5, MINUTE)));
    }
    for (Supplier<CustomAlgorithm.Evaluation> broken :
        List.<Supplier<CustomAlgorithm.Evaluation>>of(
            () -> null,
            () -> {
              throw new ArithmeticException("a mistake");
            },
            () -> {
              throw new NoClassDefFoundError("a mistake");
            })) {
      assertFails(call(rule(9, MINUTE), CustomRule.of(new Answering(broken), 5, MINUTE)));
    }
    assertThat(store.subjects()).isZero();
  }

  private void assertFails(LimitRequest call) {
    assertThat(store.decide(call, Mode.ACQUIRE))
        .failsWithin(SECOND)
        .withThrowableThat()
        .withCauseInstanceOf(StoreException.class)
        .withMessageContaining("The algorithm 'answering' of the rule '5-per-60s' ");
  }

  private record Answering(Supplier<Evaluation> answer) implements CustomAlgorithm {
    @Override
    public String name() {
      return "answering";
    }

    @Override
    public int stateSize() {
      return 1;
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
      return answer.get();
    }

    @Override
    public String script() {
      return "return 1, { 1 }";
    }
  }

  @Test
  void aStoreForNoSubjectIsRejected() {
    assertThatThrownBy(() -> new MemoryStore(0))
        .hasMessage("A memory store for 0 subjects: use 1 or more");
  }
}
