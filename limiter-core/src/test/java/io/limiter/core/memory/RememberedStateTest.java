// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Which state is kept of a subject and for how long, where its rules, its bans or clocks change.
 */
class RememberedStateTest {

  private long clock = 100_000_000;
  private final MemoryStore store = new MemoryStore(100, () -> clock);

  private Verdict decide(LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  private Verdict acquire(LimitRequest call) {
    return decide(call, Mode.ACQUIRE);
  }

  private Outcome outcome(LimitRequest call) {
    return acquire(call).outcome();
  }

  private static LimitRequest banning(BanRule ban, Rule... rules) {
    return LimitRequest.of(Policy.of("policy", rules).withBan(ban), new Subject("user", "x"));
  }

  /** The number of keys after a peek by a new subject, which gets none. */
  private int remembered() {
    decide(call("stranger", rule(1, SECOND)), Mode.PEEK);
    return store.subjects();
  }

  @Test
  void aKeyExpiresASecondAfterItIsFullyReplenished() {
    for (Rule rule : List.of(rule(1, MINUTE), FixedWindowRule.of(1, MINUTE))) {
      acquire(call("somebody", rule));
      clock += 60_999_999;
      assertThat(remembered()).as("%s", rule).isEqualTo(1);
      clock += 1;
      assertThat(remembered()).as("%s", rule).isZero();
    }
  }

  @Test
  void aKeyExpiresAsSoonThoughTheClockWasSetBack() {
    for (Rule rule : List.of(rule(1, MINUTE), FixedWindowRule.of(1, MINUTE))) {
      LimitRequest call = call("somebody", rule);
      acquire(call);
      clock -= 10_000_000;
      assertThat(outcome(call)).isEqualTo(Outcome.LIMITED);
      clock += 60_999_999;
      assertThat(remembered()).as("%s", rule).isEqualTo(1);
      clock += 1;
      assertThat(remembered()).as("%s", rule).isZero();
    }
  }

  @Test
  void violationsAreKeptAsLongAsTheyCount() {
    LimitRequest call =
        banning(BanRule.of(2, HOUR, MINUTE), FixedWindowRule.of(1, SECOND)).withCost(2);
    assertThat(outcome(call)).isEqualTo(Outcome.LIMITED);
    clock += 3_599_999_999L;
    assertThat(outcome(call)).isEqualTo(Outcome.BANNED);
  }

  @Test
  void aBanThatIsCutStaysAsItWasForRulesThatDoNotCutIt() {
    Rule rule = FixedWindowRule.of(5, SECOND);
    LimitRequest hour = banning(BanRule.of(1, SECOND, HOUR), rule);
    LimitRequest minute = banning(BanRule.of(1, SECOND, MINUTE), rule);
    assertThat(acquire(hour.withCost(6)).ban()).contains(HOUR);
    clock += 1_000_000;
    decide(minute, Mode.RECORD);
    clock += 1_000_000;
    assertThat(acquire(minute).ban()).contains(Duration.ofSeconds(58));
    assertThat(acquire(hour).ban()).contains(HOUR.minusSeconds(2));
  }

  @Test
  void tokensComeDuringTheBanThatTheFirstCallBrings() {
    TokenBucketRule empty = TokenBucketRule.of(2, 1, SECOND).startingWith(0);
    LimitRequest call = banning(BanRule.of(1, SECOND, SECOND), empty);
    assertThat(outcome(call)).isEqualTo(Outcome.BANNED);
    clock += 1_000_000;
    assertThat(outcome(call)).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(call)).isEqualTo(Outcome.BANNED);
  }

  @Test
  void numbersContinueUnderTheirRuleAtAnyIndex() {
    Rule bucket = TokenBucketRule.of(9, 1, MINUTE);
    Rule window = FixedWindowRule.of(5, MINUTE);
    Rule hours = FixedWindowRule.of(7, HOUR);
    acquire(call(bucket, window, hours).withCost(2));
    assertThat(decide(call(hours, bucket, window), Mode.PEEK).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(5L, 7L, 3L);
  }

  @Test
  void nothingIsGivenBackToAnotherRule() {
    Verdict before = acquire(call(FixedWindowRule.of(5, MINUTE)));
    LimitRequest after = call(TokenBucketRule.of(9, 1, MINUTE));
    acquire(after);
    assertThat(before.reservation().refund()).isCompletedWithValue(1L);
    assertThat(decide(after, Mode.PEEK).rules().get(0).remaining()).isEqualTo(8);
  }

  @Test
  void aLogThatWasGivenAllBackIsAsIfNeverUsedThoughOtherNumbersAreKnown() {
    LimitRequest call = call(rule(5, MINUTE), FixedWindowRule.of(6, MINUTE));
    Verdict taken = acquire(call);
    clock += 1_000_000;
    assertThat(taken.reservation().refund()).isCompletedWithValue(1L);
    RuleVerdict log = decide(call, Mode.PEEK).rules().get(0);
    assertThat(log.remaining()).isEqualTo(5);
    assertThat(log.resetAfter()).isZero();
  }
}
