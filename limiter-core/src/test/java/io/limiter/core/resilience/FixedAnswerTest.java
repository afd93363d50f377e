// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Fail open admits every call while the store is away, fail closed none. */
class FixedAnswerTest {

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("sms", SlidingWindowLogRule.of(5, Duration.ofHours(1)))
              .withDuplicates(SlidingWindowLogRule.of(1, Duration.ofSeconds(5))),
          new Subject("user", "ada"));

  @ParameterizedTest
  @CsvSource({
    "ALLOW,ACQUIRE,ALLOWED", "ALLOW,PEEK,ALLOWED", "ALLOW,RECORD,ALLOWED",
    "DENY,ACQUIRE,UNAVAILABLE", "DENY,PEEK,UNAVAILABLE", "DENY,RECORD,UNAVAILABLE"
  })
  void itAnswersTheSameInEveryModeWithoutAnyRule(Fallback fallback, Mode mode, Outcome outcome) {
    LimitStore store = away(fallback);
    for (int i = 0; i < 10; i++) { // more than any rule would admit
      Verdict verdict = store.decide(CALL, mode).toCompletableFuture().join();

      assertThat(verdict.policy()).isEqualTo(CALL.policy());
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

  private static LimitStore away(Fallback fallback) {
    MemoryStore away = new MemoryStore();
    away.close();
    return new FallbackStore(away, new MemoryStore(), policy -> fallback, new FallbackCounts());
  }
}
