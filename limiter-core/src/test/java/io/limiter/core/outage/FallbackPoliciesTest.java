// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each policy has its fallback, and the decisions of each are counted. */
class FallbackPoliciesTest {

  private final MemoryStore store = new MemoryStore();
  private final FallbackCounts counts = new FallbackCounts();
  private final FallbackStore withFallbacks =
      new FallbackStore(
          store,
          new MemoryStore(),
          policy ->
              Map.of("login", Fallback.DENY, "feed", Fallback.ALLOW)
                  .getOrDefault(policy.name(), Fallback.LOCAL),
          counts);

  @BeforeEach
  void storeIsAway() {
    store.close();
  }

  @Test
  void aPolicyHasItsOwnFallbackAndTheOthersTheUsualOne() {
    assertThat(outcome(call("login"))).isEqualTo(Outcome.UNAVAILABLE);
    assertThat(outcome(call("feed"))).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(call("feed"))).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(call("sms"))).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(call("sms"))).isEqualTo(Outcome.LIMITED);
  }

  @Test
  void aRequestOfSeveralPoliciesHasTheFallbackOfTheFirst() {
    assertThat(outcome(call("feed").and(call("login")))).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(call("login").and(call("feed")))).isEqualTo(Outcome.UNAVAILABLE);
  }

  @Test
  void everyDecisionOfAFallbackIsCountedByReason() {
    outcome(call("login"));
    outcome(call("feed"));
    outcome(call("feed"));
    outcome(call("sms"));

    assertThat(counts.of(Fallback.DENY, FailureReason.DISCONNECTED)).isEqualTo(1);
    assertThat(counts.of(Fallback.ALLOW, FailureReason.DISCONNECTED)).isEqualTo(2);
    assertThat(counts.of(Fallback.ALLOW, FailureReason.TIMEOUT)).isZero();
    assertThat(counts.of(Fallback.LOCAL)).isEqualTo(1);
    assertThat(counts.of(FailureReason.DISCONNECTED)).isEqualTo(4);
    assertThat(counts.of(FailureReason.ERROR)).isZero();
  }

  @Test
  void decisionsOfTheStoreAreNotCounted() {
    new FallbackStore(new MemoryStore(), new MemoryStore(), policy -> Fallback.LOCAL, counts)
        .decide(call("sms"), Mode.ACQUIRE);

    assertThat(counts.of(Fallback.LOCAL)).isZero();
  }

  private Outcome outcome(LimitRequest request) {
    return withFallbacks.decide(request, Mode.ACQUIRE).toCompletableFuture().join().outcome();
  }

  private static LimitRequest call(String policy) {
    return LimitRequest.of(
        Policy.of(policy, SlidingWindowLogRule.of(1, Duration.ofHours(1))),
        new Subject("user", "ada"));
  }

  /** Fail open admits every call while the store is away, fail closed none. */
  @ParameterizedTest
  @CsvSource({
    "ALLOW,ACQUIRE,ALLOWED", "ALLOW,PEEK,ALLOWED", "ALLOW,RECORD,ALLOWED",
    "DENY,ACQUIRE,UNAVAILABLE", "DENY,PEEK,UNAVAILABLE", "DENY,RECORD,UNAVAILABLE"
  })
  void itAnswersTheSameInEveryModeWithoutAnyRule(Fallback fallback, Mode mode, Outcome outcome) {
    LimitRequest call =
        LimitRequest.of(
            Policy.of("sms", SlidingWindowLogRule.of(5, Duration.ofHours(1)))
                .withDuplicates(SlidingWindowLogRule.of(1, Duration.ofSeconds(5))),
            new Subject("user", "ada"));
    LimitStore fixed = new FallbackStore(store, new MemoryStore(), policy -> fallback, counts);
    for (int i = 0; i < 10; i++) { // more than any rule would admit
      Verdict verdict = fixed.decide(call, mode).toCompletableFuture().join();

      assertThat(verdict.policy()).isEqualTo(call.policy());
      assertThat(verdict.outcome()).isEqualTo(outcome);
      assertThat(verdict.allowed()).isEqualTo(fallback == Fallback.ALLOW);
      assertThat(verdict.rules()).isEmpty();
      assertThat(verdict.violated()).isEmpty();
      assertThat(verdict.duplicate()).isEmpty();
      assertThat(verdict.retryAfter()).isEmpty();
      assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
      assertThat(verdict.reason()).contains(FailureReason.DISCONNECTED);
      assertThat(verdict.reservation()).isSameAs(Reservation.NOTHING);
    }
  }
}
