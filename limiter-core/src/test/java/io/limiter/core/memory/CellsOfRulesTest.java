// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.state.ScriptedAlgorithm;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which cell belongs to which rule, and who may read it meanwhile. */
class CellsOfRulesTest {

  private long micros = 1_700_000_000_000_000L;
  private final MemoryStore store = new MemoryStore(10, () -> micros);

  private Verdict decide(LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  private List<Long> left(LimitRequest call) {
    return store.decide(call, Mode.PEEK).toCompletableFuture().join().rules().stream()
        .map(RuleVerdict::remaining)
        .toList();
  }

  @Test
  void rulesOfOneWindowGetBackTheirOwnUnits() {
    LimitRequest call =
        call(SlidingWindowCounterRule.of(10, MINUTE), SlidingWindowCounterRule.of(20, MINUTE));
    decide(call);
    Verdict second = decide(call.withCost(3));
    assertThat(left(call)).containsExactly(6L, 16L);

    assertThat(second.reservation().refund()).isCompletedWithValue(3L);

    assertThat(left(call)).containsExactly(9L, 19L);
  }

  /** An algorithm that counts how often it is asked. */
  private record Counted(AtomicInteger asked, CustomAlgorithm counted) implements CustomAlgorithm {

    @Override
    public String name() {
      return counted.name();
    }

    @Override
    public int stateSize() {
      return counted.stateSize();
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double @Nullable [] state) {
      asked.incrementAndGet();
      return counted.read(now, cost, rule, state);
    }

    @Override
    public String script() {
      return counted.script();
    }
  }

  /** It may fail, so all of it happens before anything is taken, and once. */
  @Test
  void aCustomAlgorithmIsAskedDuringTheDecisionOnly() {
    AtomicInteger asked = new AtomicInteger();
    LimitRequest call =
        call(CustomRule.of(new Counted(asked, new ScriptedAlgorithm()), 10, MINUTE, 5.0));
    Verdict taken = decide(call);
    assertThat(asked).hasValue(1);
    assertThat(taken.rules().get(0).remaining()).isEqualTo(4);
    assertThat(taken.reservation().refund()).isCompletedWithValue(0L);
    assertThat(asked).hasValue(1);

    Verdict peeked = store.decide(call, Mode.PEEK).toCompletableFuture().join();
    int times = asked.get();
    assertThat(peeked.rules().get(0).remaining()).isEqualTo(5);
    assertThat(asked).hasValue(times);
  }

  /** Of the call itself, and of the past units that it carries. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDecisionWaitsForTheKeysThatItReads(boolean past) {
    StripedState stripes = new StripedState(100_000, () -> micros, 0);
    LimitRequest held = keyOutside(stripes, 0);
    LimitRequest call =
        past
            ? keyOutside(stripes, stripes.indexOf(held.charge(0).key()))
                .after(List.of(new PastCharge(held.charge(0), Duration.ZERO)))
            : held;
    long mask = 1L << stripes.indexOf(held.charge(0).key());
    AtomicReference<Thread> deciding = new AtomicReference<>();
    CompletableFuture<Verdict> decided;
    stripes.lock(mask);
    try {
      decided =
          CompletableFuture.supplyAsync(
              () -> {
                deciding.set(Thread.currentThread());
                return new MemoryDecision(call, stripes).decide(Mode.ACQUIRE);
              });
      await()
          .until(
              () ->
                  decided.isDone()
                      || deciding.get() != null
                          && deciding.get().getState() == Thread.State.WAITING);
      assertThat(decided).isNotDone();
    } finally {
      stripes.unlock(mask);
    }
    assertThat(decided).succeedsWithin(Duration.ofSeconds(10));
  }

  /** A call whose key is neither in the first stripe nor in this one. */
  private static LimitRequest keyOutside(StripedState stripes, int index) {
    for (int i = 0; ; i++) {
      LimitRequest call = call("user" + i, rule(1, MINUTE));
      int found = stripes.indexOf(call.charge(0).key());
      if (found != 0 && found != index) {
        return call;
      }
    }
  }
}
