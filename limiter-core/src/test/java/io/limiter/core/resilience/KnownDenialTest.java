// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which denied calls are answered from the cache, and for which the store is asked each time. */
class KnownDenialTest {

  private static final Subject SOMEBODY = new Subject("user", "somebody");

  private final MemoryStore memory = new MemoryStore();
  private final DenyCache cache = new DenyCache(memory);

  private Verdict acquire(LimitRequest request) {
    return cache.decide(request, Mode.ACQUIRE).toCompletableFuture().join();
  }

  /** Who answers a call that the store has just denied. */
  private DecidedBy afterADenial(LimitRequest request) {
    Verdict verdict = acquire(request);
    for (int i = 0; verdict.allowed() && i < 20; i++) {
      verdict = acquire(request);
    }
    assertThat(verdict.allowed()).isFalse();
    Verdict next = acquire(request);
    assertThat(next.outcome()).isEqualTo(verdict.outcome());
    return next.decidedBy();
  }

  private static LimitRequest by(Policy policy) {
    return LimitRequest.of(policy, SOMEBODY);
  }

  @Test
  void rulesThatCountEveryCallAreKnown() {
    assertThat(afterADenial(call(rule(1, MINUTE), rule(5, MINUTE.multipliedBy(2)))))
        .isEqualTo(DecidedBy.DENY_CACHE);
  }

  @Test
  void callsThatCountTowardsABanAreAskedFor() {
    LimitRequest banned =
        by(Policy.of("search", rule(1, MINUTE)).withBan(BanRule.of(3, MINUTE, MINUTE)));
    List<Verdict> verdicts = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      verdicts.add(acquire(banned));
    }
    assertThat(verdicts)
        .extracting(Verdict::outcome)
        .containsExactly(
            Outcome.ALLOWED,
            Outcome.LIMITED,
            Outcome.LIMITED,
            Outcome.BANNED,
            Outcome.BANNED,
            Outcome.BANNED);
    assertThat(verdicts)
        .extracting(Verdict::decidedBy)
        .containsExactly(
            DecidedBy.STORE,
            DecidedBy.STORE,
            DecidedBy.STORE,
            DecidedBy.STORE,
            DecidedBy.DENY_CACHE,
            DecidedBy.DENY_CACHE);
  }

  @Test
  void aDuplicateMayBeReleasedAtAnyTime() {
    assertThat(afterADenial(submit("order", rule(10, MINUTE)))).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aDeniedCallerMayMakeNoSubmission() {
    acquire(submit("first", rule(1, MINUTE)));

    assertThat(afterADenial(submit("second", rule(1, MINUTE)))).isEqualTo(DecidedBy.DENY_CACHE);
  }

  @Test
  void placesInFlightComeBackAnyTime() {
    assertThat(afterADenial(call(ConcurrencyLimitRule.of(1)))).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void unitsOfCallsThatDoNotCountComeBackAnyTime() {
    assertThat(
            afterADenial(by(Policy.of("login", rule(1, MINUTE)).withCounting(Counting.FAILURES))))
        .isEqualTo(DecidedBy.STORE);
  }

  @Test
  void placesInAQueueComeBackAnyTime() {
    assertThat(afterADenial(call(LeakyBucketRule.of(1, MINUTE, 1, MINUTE))))
        .isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aCallThatIsTooCostlyIsNotAboutTime() {
    assertThat(afterADenial(call(rule(1, MINUTE)).withCost(2))).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aCertainDenialOfOneSubjectDecidesTheWholeCall() {
    Rule inFlight = ConcurrencyLimitRule.of(5);
    LimitRequest both =
        by(Policy.of("each", rule(1, MINUTE)))
            .and(LimitRequest.of(Policy.of("running", inFlight), SOMEBODY));

    assertThat(afterADenial(both)).isEqualTo(DecidedBy.DENY_CACHE);
  }

  @Test
  void anObservedRuleDeniesNoCall() {
    LimitRequest observed = call(rule(1, SECOND)).observe();
    for (int i = 0; i < 3; i++) {
      assertThat(acquire(observed).decidedBy()).isEqualTo(DecidedBy.STORE);
    }
  }

  @Test
  void rulesThatAdmitTheCallDoNotMakeItsDenialKnown() {
    LimitRequest failures = by(Policy.of("login", rule(1, MINUTE)).withCounting(Counting.FAILURES));

    assertThat(afterADenial(by(Policy.of("each", rule(10, MINUTE))).and(failures)))
        .isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aCallThatIsTooCostlyForOneRuleIsNotKnownFromTheOthers() {
    LimitRequest costly = call(rule(2, MINUTE), rule(5, SECOND.multipliedBy(90))).withCost(3);
    memory.decide(costly, Mode.RECORD);

    assertThat(acquire(costly).violated()).hasSize(2);
    assertThat(afterADenial(costly)).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aCallThatIsTooCostlyForARuleThatIsOnlyObservedIsKnownFromTheOthers() {
    LimitRequest observed = by(Policy.of("observed", rule(1, MINUTE))).observe();

    assertThat(afterADenial(by(Policy.of("each", rule(2, MINUTE))).and(observed).withCost(2)))
        .isEqualTo(DecidedBy.DENY_CACHE);
  }
}
