// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A denied call changes nothing; the effects of peek, record and reset. */
public interface ModesContract extends StoreHarness {

  @Test
  default void aDeniedStackOfEightRulesChangesNothing() {
    Rule[] rules =
        IntStream.rangeClosed(1, 8)
            .mapToObj(i -> rule(10L * i, MINUTE.multipliedBy(i)))
            .toArray(Rule[]::new);
    LimitRequest call = submit("form", rules);
    assertAllowed(call);
    record(call.withCost(9));
    advance(SECOND);
    List<Optional<String>> before = stored(call);
    assertThat(before).allMatch(Optional::isPresent);
    assertLimited(call);
    assertLimited(call.withCost(5));
    assertThat(stored(call)).isEqualTo(before);
  }

  @Test
  default void theVerdictsPolicyHasTheRulesOfAllStacksOfTheCall() {
    LimitRequest call =
        submit("form", rule(5, MINUTE), FixedWindowRule.of(7, HOUR))
            .and(call("other", rule(3, HOUR)))
            .and(call("third", ConcurrencyLimitRule.of(2)));
    for (Mode mode : List.of(Mode.PEEK, Mode.ACQUIRE, Mode.RECORD)) {
      Verdict verdict = decide(call, mode);
      assertThat(verdict.rules()).hasSize(4);
      assertThat(verdict.rules()).extracting(RuleVerdict::rule).isEqualTo(verdict.policy().rules());
      assertThat(verdict.policy().name()).isEqualTo(call.policy().name());
      assertThat(verdict.policy().duplicates()).isPresent();
    }
  }

  @Test
  default void aDenialByOneKeyTakesNothingFromTheOthers() {
    LimitRequest narrow = call("narrow", rule(1, MINUTE));
    LimitRequest wide = call("wide", rule(5, MINUTE));
    LimitRequest both =
        new LimitRequest(
            wide.policy(),
            List.of(wide.charge(0), narrow.charge(0)),
            submit("form", rule(1, MINUTE)).duplicate());
    assertAllowed(narrow);
    List<Optional<String>> before = stored(both);
    Verdict denied = acquire(both);
    assertThat(denied.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(denied.rules()).extracting(RuleVerdict::remaining).containsExactly(5L, 0L);
    assertThat(stored(both)).isEqualTo(before);
  }

  @Test
  default void peekAnswersAsAnAcquisitionWouldAndTakesNothing() {
    LimitRequest call = submit("form", rule(2, MINUTE));
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(2);
    assertThat(stored(call)).containsOnly(Optional.empty());
    assertAllowed(call);
    List<Optional<String>> before = stored(call);
    advance(SECOND);
    assertThat(peek(call).outcome()).isEqualTo(Outcome.DUPLICATE);
    assertThat(peek(call).retryAfter()).contains(MINUTE.minus(SECOND));
    assertThat(stored(call)).isEqualTo(before);
    record(call);
    assertThat(peek(call).outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(peek(call).reservation()).isSameAs(Reservation.NOTHING);
  }

  @Test
  default void recordCountsEvenAboveTheLimit() {
    LimitRequest call = call(rule(3, MINUTE));
    for (int i = 0; i < 5; i++) {
      Verdict verdict = record(call);
      assertThat(verdict.outcome()).isEqualTo(Outcome.ALLOWED);
      assertThat(verdict.violated()).isEmpty();
      assertThat(verdict.rules().get(0).remaining()).isEqualTo(Math.max(0, 2 - i));
      advance(SECOND);
    }
    Verdict denied = acquire(call);
    assertThat(denied.retryAfter()).contains(MINUTE.minus(SECOND.multipliedBy(3)));
  }

  @Test
  default void recordKeepsNoMoreUnitsThanTheLargestRuleNeeds() {
    LimitRequest call = call(rule(200, MINUTE));
    record(call.withCost(150));
    advance(SECOND);
    Verdict newest = record(call.withCost(1_000));
    assertThat(remaining(call)).isZero();
    assertThat(refund(newest)).as("more than before").isEqualTo(50);
    assertThat(remaining(call)).isEqualTo(50);
  }

  @Test
  default void resetAffectsItsKeysAndOnlyThose() {
    LimitRequest call = submit("form", rule(1, MINUTE));
    LimitRequest other = call("other", rule(1, MINUTE));
    assertAllowed(call);
    assertAllowed(other);
    assertThat(store().reset(List.of(call.charge(0).key(), call.charge(1).key())))
        .succeedsWithin(SECOND.multipliedBy(10));
    assertThat(stored(call)).containsOnly(Optional.empty());
    assertAllowed(call);
    assertLimited(other);
    assertThat(store().reset(List.of())).succeedsWithin(SECOND.multipliedBy(10));
  }

  @Test
  default void aClosedStoreFails() {
    LimitRequest call = call(rule(1, MINUTE));
    store().close();
    assertThat(store().decide(call, Mode.ACQUIRE))
        .failsWithin(SECOND.multipliedBy(10))
        .withThrowableThat()
        .withCauseInstanceOf(StoreException.class);
  }
}
