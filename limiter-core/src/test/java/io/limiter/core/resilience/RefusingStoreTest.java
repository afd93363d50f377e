// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Receipt;
import io.limiter.core.SlidingWindowLog;
import io.limiter.core.Source;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who fails closed lets no call through while the store is away, and says why. */
class RefusingStoreTest {

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("sms", SlidingWindowLog.of(5, Duration.ofHours(1)))
              .withDuplicates(SlidingWindowLog.of(1, Duration.ofSeconds(5))),
          new Subject("user", "ada"));

  /** Never answers. */
  private static final class Away implements LimitStore {
    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return CompletableFuture.failedFuture(
          new StoreException(FailureReason.DISCONNECTED, "away", null));
    }

    @Override
    public CompletionStage<Void> reset(Collection<Key> keys) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void close() {}
  }

  private final LimitStore store = new FallbackStore(new Away(), new RefusingStore());

  @ParameterizedTest
  @EnumSource
  void itRefusesInEveryModeAndKnowsNothingOfAnyRule(Mode mode) {
    Verdict verdict = store.decide(CALL, mode).toCompletableFuture().join();

    assertThat(verdict.policy()).isEqualTo(CALL.policy());
    assertThat(verdict.outcome()).isEqualTo(Outcome.UNAVAILABLE);
    assertThat(verdict.allowed()).isFalse();
    assertThat(verdict.rules()).isEmpty();
    assertThat(verdict.violated()).isEmpty();
    assertThat(verdict.duplicate()).isEmpty();
    assertThat(verdict.retryAfter()).isEmpty();
    assertThat(verdict.source()).isEqualTo(Source.FALLBACK);
    assertThat(verdict.reason()).contains(FailureReason.DISCONNECTED);
    assertThat(verdict.receipt()).isSameAs(Receipt.NOTHING);
  }

  @Test
  void itDoesNotKeepTheStoreFromForgetting() {
    assertThat(store.reset(List.of(CALL.charge(0).key()))).isCompleted();
  }
}
