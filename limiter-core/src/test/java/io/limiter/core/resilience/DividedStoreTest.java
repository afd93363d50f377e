// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Rule;
import io.limiter.core.RuleVerdict;
import io.limiter.core.SlidingWindowLog;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Instances that count for themselves share a limit without talking to each other. */
class DividedStoreTest {

  private static final Duration HOUR = Duration.ofHours(1);

  @ParameterizedTest
  @CsvSource({"10,1,10", "10,2,5", "10,3,4", "9,3,3", "1,3,1", "2,3,1", "1000000,7,142858"})
  void eachGetsItsShareRoundedUp(long count, int instances, long share) {
    Verdict verdict = decide(new DividedStore(new MemoryStore(), instances), call(count), 1);

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
        Stream.<LimitStore>generate(() -> new DividedStore(new MemoryStore(), instances))
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

  @Test
  void theVerdictBearsThePolicyAsItIs() {
    LimitRequest call = call(10);

    assertThat(decide(new DividedStore(new MemoryStore(), 3), call, 1).policy())
        .isSameAs(call.policy());
  }

  @Test
  void aCallThatCostsMoreThanAShareIsRefused() {
    LimitStore store = new DividedStore(new MemoryStore(), 3);

    assertThat(decide(store, call(10), 4).outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(decide(store, call(10), 5).outcome()).isEqualTo(Outcome.LIMITED);
  }

  @Test
  void duplicateGuardsAreWhole() {
    LimitStore store = new DividedStore(new MemoryStore(), 3);
    LimitRequest submission =
        LimitRequest.of(
            Policy.of("orders", rule(10)).withDuplicates(SlidingWindowLog.of(2, HOUR)),
            new Subject("user", "ada"));

    assertThat(decide(store, submission, 1).allowed()).isTrue();
    assertThat(decide(store, submission, 1).allowed()).isTrue();
    assertThat(decide(store, submission, 1).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  @Test
  void whatWasTakenCanBeGivenBackAndForgotten() {
    LimitStore store = new DividedStore(new MemoryStore(), 5);
    Verdict only = decide(store, call(5), 1);
    assertThat(decide(store, call(5), 1).allowed()).isFalse();

    assertThat(only.receipt().refund()).isCompletedWithValue(1L);
    assertThat(decide(store, call(5), 1).allowed()).isTrue();

    store.reset(List.of(call(5).charge(0).key()));
    assertThat(decide(store, call(5), 1).allowed()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1})
  void thereIsOneInstanceOrMore(int instances) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new DividedStore(new MemoryStore(), instances))
        .withMessage("Limits divided among %d instances: give it 1 or more".formatted(instances));
  }

  private static Verdict decide(LimitStore store, LimitRequest call, int cost) {
    return store.decide(call.withCost(cost), Mode.ACQUIRE).toCompletableFuture().join();
  }

  private static Rule rule(long count) {
    return SlidingWindowLog.of(count, HOUR);
  }

  private static LimitRequest call(long count) {
    return LimitRequest.of(Policy.of("sms", rule(count)), new Subject("user", "ada"));
  }
}
