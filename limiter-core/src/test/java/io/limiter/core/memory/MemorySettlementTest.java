// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import org.junit.jupiter.api.Test;

/** Calls whose actual cost is higher, where they were not counted or cannot be. */
class MemorySettlementTest {

  private final MemoryStore store = new MemoryStore(10, () -> 0);

  private Verdict decide(LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  @Test
  void anObservedRuleThatWouldHaveDeniedACallRecordsNoMoreOfIt() {
    LimitRequest observed = call("observed", rule(5, MINUTE)).observe();
    LimitRequest both = call("caller", rule(100, MINUTE)).and(observed).withCost(6);
    Verdict verdict = decide(both, Mode.ACQUIRE);
    assertThat(verdict.allowed()).isTrue();
    assertThat(verdict.reservation().settle(Completion.succeeded().withCost(8)))
        .isCompletedWithValue(0L);
    assertThat(decide(both, Mode.PEEK).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(92L, 5L);
  }

  @Test
  void aCallWhoseCostFunctionThrowsIsNotSettled() {
    LimitRequest call = call(rule(9, MINUTE)).withCost(5);
    Verdict verdict = decide(call, Mode.ACQUIRE);
    Completion broken =
        Completion.succeeded()
            .withCosts(
                charge -> {
                  throw new IllegalStateException("no cost known");
                });
    assertThat(verdict.reservation().settle(broken))
        .failsWithin(SECOND)
        .withThrowableThat()
        .withMessageContaining("no cost known");
    assertThat(verdict.reservation().settle(Completion.succeeded().withCost(2)))
        .isCompletedWithValue(3L);
    assertThat(decide(call, Mode.PEEK).rules().get(0).remaining()).isEqualTo(7);
  }

  @Test
  void whereAnAlgorithmFailsToCountTheRestTheSettlementFails() {
    LimitRequest call = call(CustomRule.of(new Cheap(), 9, MINUTE)).withCost(2);
    Verdict verdict = decide(call, Mode.ACQUIRE);
    assertThat(verdict.reservation().settle(Completion.succeeded().withCost(7)))
        .failsWithin(SECOND)
        .withThrowableThat()
        .withCauseInstanceOf(StoreException.class)
        .withMessageContaining("The algorithm 'cheap'");
  }

  /** An algorithm that fails at a cost above three. */
  private record Cheap() implements CustomAlgorithm {
    @Override
    public String name() {
      return "cheap";
    }

    @Override
    public int stateSize() {
      return 1;
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
      if (cost > 3) {
        throw new ArithmeticException("a mistake");
      }
      return new Evaluation(9, 1, 1, new double[1]);
    }

    @Override
    public String script() {
      return "return 9, { 1 }";
    }
  }
}
