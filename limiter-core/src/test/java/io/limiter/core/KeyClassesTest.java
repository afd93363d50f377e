// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Which calls are counted together, and under which key. */
class KeyClassesTest {

  private static final Subject ADA = new Subject("user", "ada");
  private static final Subject ADDRESS = new Subject("ip", "192.0.2.1");
  private static final Rule TURNS = LeakyBucketRule.of(2, MINUTE, 5, MINUTE);

  private static String name(RuleStack stack) {
    return StateKey.of("limit", ADA).of(stack).name();
  }

  /** They are in Redis: another name would lose what an older version has counted. */
  @Test
  void everyClassOfCallsHasANameThatNeverChanges() {
    RuleStack all = RuleStack.of(List.of(rule(1, MINUTE)));
    assertThat(name(all)).matches("r\\.[\\w-]{6}");
    assertThat(name(all.withCounting(Counting.FAILURES))).matches("f\\.[\\w-]{6}");
    assertThat(name(all.withCounting(Counting.SUCCESSES))).matches("s\\.[\\w-]{6}");
    assertThat(name(RuleStack.of(List.of(ConcurrencyLimitRule.of(1))))).matches("i\\.[\\w-]{6}");
    assertThat(name(RuleStack.of(List.of(TURNS)))).matches("w\\.[\\w-]{6}");
  }

  @Test
  void aTurnBesideOtherRulesIsCountedWithThem() {
    assertThat(name(RuleStack.of(List.of(TURNS, rule(1, MINUTE))))).matches("r\\.[\\w-]{6}");
  }

  @Test
  void aSubmissionBelongsToItsSubmitterThoughAnotherIsCounted() {
    Policy policy = Policy.of("form", rule(5, MINUTE)).withDuplicates(rule(1, MINUTE));
    LimitRequest call = LimitRequest.of(policy, ADDRESS, ADA, "text");
    RuleStack guard = policy.duplicates().orElseThrow();
    assertThat(call.charge(0).key())
        .isEqualTo(StateKey.of("form", ADDRESS).of(policy.stacks().get(0)));
    assertThat(call.charge(1).key()).isEqualTo(StateKey.of("form", ADA).duplicates(guard, "text"));
    assertThat(LimitRequest.of(policy, ADA, ADA, "text"))
        .isEqualTo(LimitRequest.of(policy, ADA, Optional.of("text")));
  }

  @Test
  void anAddressIsBroaderThanAUserAndTheGlobalSubjectIsBroadest() {
    assertThat(ADA.breadth()).isEqualTo(Subject.ONE_CALLER);
    assertThat(ADDRESS.breadth()).isEqualTo(Subject.AN_ADDRESS);
    assertThat(new Subject("anonymous", "192.0.2.1").breadth()).isEqualTo(Subject.AN_ADDRESS);
    assertThat(Subject.global().breadth()).isEqualTo(Subject.EVERYBODY);
    assertThat(StateKey.of("limit", ADDRESS).breadth()).isEqualTo(Subject.AN_ADDRESS);
  }
}
