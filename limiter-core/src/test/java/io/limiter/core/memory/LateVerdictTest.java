// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Answer;
import io.limiter.core.Differential;
import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Scenario;
import io.limiter.core.Step;
import io.limiter.core.Verdict;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.DelegatingStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The rules of a verdict are computed when they are asked for: whatever has happened to the subject
 * since, they are those of the decision.
 */
class LateVerdictTest {

  private static final long NEVER_EXPIRE = Long.MAX_VALUE / 4;

  /** Reads each verdict at once, and keeps a copy of it that has not been read. */
  private static final class Twice extends DelegatingStore {
    private final List<Verdict> early = new ArrayList<>();
    private final List<Verdict> late = new ArrayList<>();

    Twice(LimitStore store) {
      super(store);
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      CompletionStage<Verdict> decided = store.decide(request, mode);
      var unused =
          decided.thenAccept(
              verdict -> {
                late.add(verdict.withReservation(verdict.reservation()));
                assertThat(verdict.rules()).isNotNull();
                early.add(verdict);
              });
      return decided;
    }
  }

  @Test
  void aVerdictReadLaterIsThatOfItsDecision() {
    System.out.println("Verdicts read late: " + Differential.run(40_000, LateVerdictTest::run));
  }

  private static List<Answer> run(List<Step> steps) {
    AtomicLong clock = new AtomicLong();
    Twice twice = new Twice(new MemoryStore(10_000, clock::get, NEVER_EXPIRE));
    try (twice) {
      List<Answer> answers = Scenario.run(steps, twice, clock::set);
      assertThat(twice.late).isEqualTo(twice.early);
      return answers;
    }
  }

  @Test
  void theRulesAreReadOnce() {
    MemoryStore store = new MemoryStore();
    LimitRequest call = call("user", TokenBucketRule.of(10, 10, Duration.ofMinutes(1)));
    Verdict verdict = store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
    assertThat(verdict.rules()).isSameAs(verdict.rules());
  }

  @Test
  void aVerdictHasTheTimeOfItsDecision() {
    MemoryStore store = new MemoryStore(10, () -> 77);
    assertThat(store.decide(call("user", rule(1, MINUTE)), Mode.ACQUIRE))
        .isCompletedWithValueMatching(verdict -> verdict.decidedAtMicros() == 77);
  }

  /** Its code may throw, or have changed. */
  @Test
  void aCustomAlgorithmIsNotAskedWhenAVerdictIsRead() {
    AtomicInteger asked = new AtomicInteger();
    FadingCounter fading = new FadingCounter();
    CustomAlgorithm counting =
        new CustomAlgorithm() {
          @Override
          public String name() {
            return fading.name();
          }

          @Override
          public int stateSize() {
            return fading.stateSize();
          }

          @Override
          public String script() {
            return fading.script();
          }

          @Override
          public Evaluation read(
              double nowMicros, double cost, CustomRule rule, double @Nullable [] state) {
            asked.incrementAndGet();
            return fading.read(nowMicros, cost, rule, state);
          }
        };
    LimitRequest call = call("user", CustomRule.of(counting, 3, MINUTE, 2.0));
    Verdict verdict =
        new MemoryStore(10, () -> 77).decide(call, Mode.ACQUIRE).toCompletableFuture().join();
    int before = asked.get();

    assertThat(verdict.rules().get(0).remaining()).isEqualTo(2);
    assertThat(asked).hasValue(before);
  }
}
