// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The time at which units that another store took are recorded. */
class RecordedPastTest {

  private long seconds;
  private final MemoryStore store = new MemoryStore(10, () -> seconds * 1_000_000);

  private Verdict decide(LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  private long left(LimitRequest call) {
    return decide(call, Mode.PEEK).rules().get(0).remaining();
  }

  /** Reports units that were taken so many seconds ago, and takes nothing. */
  private void report(LimitRequest call, int units, int secondsAgo) {
    PastCharge past =
        new PastCharge(call.charge(0).withCost(units), Duration.ofSeconds(secondsAgo));
    assertThat(decide(call.after(List.of(past)), Mode.PEEK).allowed()).isTrue();
  }

  @Test
  void aLogWhoseClockWasSetBackRecordsThemByItsOwnTime() {
    LimitRequest call = call(rule(10, MINUTE));
    seconds = 1_000;
    decide(call, Mode.ACQUIRE);
    seconds = 400;
    decide(call, Mode.ACQUIRE);
    seconds = 410;
    report(call, 2, 20);
    seconds = 459;
    assertThat(left(call)).isEqualTo(6);
    seconds = 460;
    assertThat(left(call)).isEqualTo(10);
  }

  /** The window is that of the log's newest unit. */
  @Test
  void rulesThatShareASubjectRecordThemAtOneTime() {
    LimitRequest call = call(SlidingWindowLogRule.of(10, MINUTE), FixedWindowRule.of(5, MINUTE));
    seconds = 45;
    decide(call, Mode.ACQUIRE);
    seconds = 50;
    report(call, 2, 20);
    assertThat(decide(call, Mode.PEEK).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(7L, 2L);
    seconds = 105;
    assertThat(decide(call, Mode.PEEK).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(10L, 5L);
  }

  /** An empty log has no time of its own; that of the window is 100 s ahead of the clock. */
  @Test
  void anEmptyLogRecordsThemAtTheTimeOfTheOtherRules() {
    LimitRequest call = call(SlidingWindowLogRule.of(10, MINUTE), FixedWindowRule.of(5, MINUTE));
    seconds = 150;
    Verdict first = decide(call, Mode.ACQUIRE);
    seconds = 50;
    Verdict second = decide(call, Mode.ACQUIRE);
    assertThat(first.reservation().refund()).isCompletedWithValue(1L);
    assertThat(second.reservation().refund()).isCompletedWithValue(1L);
    report(call, 2, 20);
    seconds = 109;
    assertThat(left(call)).isEqualTo(8);
    seconds = 110;
    assertThat(left(call)).isEqualTo(10);
  }
}
