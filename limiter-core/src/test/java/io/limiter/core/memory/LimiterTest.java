// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The example in {@link Limiter}: a login that requires more after some failures. */
class LimiterTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final MemoryStore store = new MemoryStore(100, () -> 0);
  private final Limiter limiter = new Limiter(store);

  @AfterEach
  void close() {
    store.close();
  }

  private static Verdict now(java.util.concurrent.CompletionStage<Verdict> stage) {
    return stage.toCompletableFuture().join();
  }

  @Test
  void failuresAreRecordedPeekedAtAndReset() {
    LimitRequest failures = call(rule(3, MINUTE));
    for (int i = 0; i < 3; i++) {
      assertThat(now(limiter.peek(failures)).allowed()).isTrue();
      assertThat(now(limiter.record(failures)).allowed()).isTrue();
    }
    assertThat(now(limiter.peek(failures)).allowed()).isFalse();
    limiter.reset(failures);
    assertThat(now(limiter.peek(failures)).rules().get(0).remaining()).isEqualTo(3);
  }

  @Test
  void aRefundedCallWasNeverMade() {
    LimitRequest order = submit("order", rule(1, MINUTE));
    Verdict verdict = now(limiter.acquire(order));
    assertThat(limiter.refund(verdict)).isCompletedWithValue(2L);
    assertThat(now(limiter.acquire(order)).outcome()).isEqualTo(Outcome.ALLOWED);
  }

  @Test
  void aCallThatHasCostLessIsSettled() {
    LimitRequest rows = call(rule(9, MINUTE)).withCost(5);
    Verdict verdict = now(limiter.acquire(rows));
    assertThat(limiter.settle(verdict, Completion.succeeded().withCost(2)))
        .isCompletedWithValue(3L);
    assertThat(now(limiter.peek(rows)).rules().get(0).remaining()).isEqualTo(7);
  }

  @Test
  void aBanIsLiftedAndUnitsStay() {
    Policy policy = Policy.of("banning", rule(3, MINUTE)).withBan(BanRule.of(1, MINUTE, MINUTE));
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "ada"));
    assertThat(now(limiter.record(call)).allowed()).isTrue();
    assertThat(now(store.decide(call.withCost(3), Mode.ACQUIRE)).outcome())
        .isEqualTo(Outcome.BANNED);

    assertThat(limiter.liftBans(call)).isCompleted();

    assertThat(now(limiter.peek(call)).allowed()).isTrue();
    assertThat(now(limiter.peek(call)).rules().get(0).remaining()).isEqualTo(2);
  }

  @Test
  void aCallerWithoutASubjectIsAnonymous() {
    assertThat(new Subject(Subject.ANONYMOUS, "192.0.2.1").isAnonymous()).isTrue();
    assertThat(new Subject("user", "anonymous").isAnonymous()).isFalse();
  }
}
