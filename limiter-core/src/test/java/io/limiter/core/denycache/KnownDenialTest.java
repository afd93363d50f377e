// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.denycache;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.LeakyBucketRule;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Which denied calls are answered from the cache, and for which the store is asked each time. */
class KnownDenialTest {
  private final MemoryStore memory = new MemoryStore();
  private final DenyCache cache = new DenyCache(memory);

  private Verdict acquire(LimitRequest request) {
    return cache.decide(request, Mode.ACQUIRE).toCompletableFuture().join();
  }

  private static LimitRequest by(Policy policy) {
    return LimitRequest.of(policy, new Subject("user", "somebody"));
  }

  static Stream<Arguments> denials() {
    LimitRequest once = by(Policy.of("each", rule(1, MINUTE)));
    LimitRequest failures = by(Policy.of("login", rule(1, MINUTE)).withCounting(Counting.FAILURES));
    LimitRequest running = by(Policy.of("running", ConcurrencyLimitRule.of(5)));
    LimitRequest ban =
        by(Policy.of("search", rule(1, MINUTE)).withBan(BanRule.of(100, MINUTE, MINUTE)));
    return Stream.of(
        known(
            "rules that count every call", call(rule(1, MINUTE), rule(5, MINUTE.multipliedBy(2)))),
        known("one of two subjects is certainly denied", once.and(running)),
        known(
            "too costly for a rule that is only observed",
            by(Policy.of("each", rule(2, MINUTE)))
                .and(by(Policy.of("observed", rule(1, MINUTE))).observe())
                .withCost(2)),
        asked("each denial counts towards a ban", ban),
        asked("a duplicate may be released", submit("order", rule(10, MINUTE))),
        asked("a permit may be given back", call(ConcurrencyLimitRule.of(1))),
        asked("units of calls that do not count may be given back", failures),
        asked(
            "the rule that counts all calls admits this one",
            by(Policy.of("each", rule(10, MINUTE))).and(failures)),
        asked("a waiting call may leave", call(LeakyBucketRule.of(1, MINUTE, 1, MINUTE))),
        asked("no wait helps a call that is too costly", call(rule(1, MINUTE)).withCost(2)));
  }

  private static Arguments known(String why, LimitRequest request) {
    return arguments(why, request, DecidedBy.DENY_CACHE);
  }

  private static Arguments asked(String why, LimitRequest request) {
    return arguments(why, request, DecidedBy.STORE);
  }

  @ParameterizedTest(name = "{0}: {2}")
  @MethodSource("denials")
  void theCallAfterADenialIsDecidedBy(String why, LimitRequest request, DecidedBy next) {
    assertThat(afterADenial(request)).isEqualTo(next);
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

  @Test
  void aBanIsKnownOnceItHasBegun() {
    LimitRequest banned =
        by(Policy.of("search", rule(1, MINUTE)).withBan(BanRule.of(2, MINUTE, MINUTE)));
    acquire(banned);
    assertThat(acquire(banned).outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(acquire(banned).outcome()).isEqualTo(Outcome.BANNED);
    assertThat(afterADenial(banned)).isEqualTo(DecidedBy.DENY_CACHE);
  }

  @Test
  void anObservedRuleDeniesNoCall() {
    LimitRequest observed = call(rule(1, SECOND)).observe();
    for (int i = 0; i < 3; i++) {
      assertThat(acquire(observed).decidedBy()).isEqualTo(DecidedBy.STORE);
    }
  }

  @Test
  void aCallThatIsTooCostlyForOneRuleIsNotKnownFromTheOthers() {
    LimitRequest costly = call(rule(2, MINUTE), rule(5, SECOND.multipliedBy(90))).withCost(3);
    memory.decide(costly, Mode.RECORD);
    assertThat(acquire(costly).violated()).hasSize(2);
    assertThat(afterADenial(costly)).isEqualTo(DecidedBy.STORE);
  }
}
