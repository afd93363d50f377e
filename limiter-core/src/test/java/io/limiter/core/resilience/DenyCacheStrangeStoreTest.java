// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** A store of the application, which throws, gives no answer, or returns no rules. */
class DenyCacheStrangeStoreTest extends DenyCacheBench {

  private Supplier<CompletionStage<Verdict>> answer = this::looked;

  private final LimitStore strange =
      new LimitStore() {
        @Override
        public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
          return answer.get();
        }

        @Override
        public CompletionStage<Void> reset(Collection<StateKey> keys) {
          return store.reset(keys);
        }

        @Override
        public void close() {}
      };

  private final DenyCache before =
      new DenyCache(strange, policy -> true, 10, AGE, () -> 1_000 * clock);

  private CompletionStage<Verdict> looked() {
    return store.decide(caller, Mode.ACQUIRE);
  }

  /** The caller is denied, and the next call has to ask the store again. */
  private void denyAndWait() {
    before.decide(caller, Mode.ACQUIRE);
    before.decide(caller, Mode.ACQUIRE);
    advance(AGE);
  }

  private void assertThatNoCallWaitsForever() {
    answer = this::looked;
    CompletionStage<Verdict> next = before.decide(caller, Mode.ACQUIRE);
    assertThat(next).isCompleted();
    assertThat(next.toCompletableFuture().join().decidedBy()).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aRequestThatThrowsLeavesNoCallWaiting() {
    denyAndWait();
    answer =
        () -> {
          throw new IllegalStateException("a defect");
        };

    assertThatThrownBy(() -> before.decide(caller, Mode.ACQUIRE)).hasMessage("a defect");
    assertThatNoCallWaitsForever();
  }

  @Test
  void aRequestWithoutAnAnswerLeavesNoCallWaiting() {
    denyAndWait();
    answer = () -> null;

    assertThat(before.decide(caller, Mode.ACQUIRE)).isNull();
    assertThatNoCallWaitsForever();
  }

  @Test
  void aDenialWithoutARuleIsNotCached() {
    Verdict unexplained = Verdict.of(caller.policy(), Outcome.LIMITED).build();
    answer = () -> CompletableFuture.completedFuture(unexplained);

    for (int i = 0; i < 3; i++) {
      assertThat(before.decide(caller, Mode.ACQUIRE)).isCompletedWithValue(unexplained);
      assertThat(before.remembered()).isZero();
    }
  }
}
