// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Invalid values are rejected, with the element, the value and the remedy. */
public class RecordsTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);

  private static void assertRejected(ThrowingCallable call, String message) {
    assertThatIllegalArgumentException().isThrownBy(call).withMessage(message);
  }

  @ParameterizedTest
  @CsvSource({
    "10, PT60S, 10-per-60s",
    "1, PT1H, 1-per-3600s",
    "3, PT0.5S, 3-per-500ms",
    "3, PT1.5S, 3-per-1500ms",
    "2, PT0.001001S, 2-per-1001us",
    "2, PT1.000001S, 2-per-1000001us",
    "1000000, PT8784H, 1000000-per-31622400s"
  })
  void aRuleIsNamedAfterItsNumbers(long count, Duration window, String name) {
    assertThat(SlidingWindowLogRule.of(count, window).name()).isEqualTo(name);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "a\"", "a\\b", "caf\u00e9", "a\nb", "\u007f", "\t"})
  void aNameIsPlain(String name) {
    assertRejected(
        () -> new SlidingWindowLogRule(name, 1, MINUTE),
        "The rule name '"
            + name
            + "' is invalid: use 1 to 128 printable ASCII characters, without space, quote or backslash");
  }

  @Test
  void aNameIsShort() {
    assertThat(RuleStack.requireName("policy", "n".repeat(128))).hasSize(128);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RuleStack.requireName("policy", "n".repeat(129)))
        .withMessageStartingWith("The policy name 'nnn");
  }

  @Test
  void aRuleHasACountWithinBounds() {
    assertRejected(() -> rule(0, MINUTE), "The rule '0-per-60s' has count 0: use 1 to 1000000");
    assertRejected(
        () -> rule(1_000_001, MINUTE),
        "The rule '1000001-per-60s' has count 1000001: use 1 to 1000000");
  }

  @Test
  void aRuleHasAWindowWithinBounds() {
    for (Duration window :
        List.of(
            Duration.ZERO,
            Duration.ofSeconds(-1),
            Duration.ofNanos(999_000),
            Duration.ofDays(366).plusNanos(1_000))) {
      assertRejected(
          () -> new SlidingWindowLogRule("r", 1, window),
          "The rule 'r' has a window of " + window + ": use 1 ms to 366 days");
    }
    assertRejected(
        () -> new SlidingWindowLogRule("r", 1, Duration.ofNanos(1_000_001)),
        "The rule 'r' has a window of PT0.001000001S: use whole microseconds");
  }

  @Test
  void aStackHasOneToEightRules() {
    assertRejected(() -> RuleStack.of(List.of()), "0 rules in one stack: use 1 to 8");
    assertRejected(
        () -> RuleStack.of(LongStream.rangeClosed(1, 9).mapToObj(i -> rule(i, MINUTE)).toList()),
        "9 rules in one stack: use 1 to 8");
  }

  @Test
  void theRulesOfAStackHaveDifferentNames() {
    assertRejected(
        () -> RuleStack.of(List.of(rule(1, MINUTE), rule(1, Duration.ofSeconds(60)))),
        "Two rules of one stack are named '1-per-60s': remove or rename one of them");
  }

  @Test
  void stacksOfEqualRulesAreEqual() {
    RuleStack stack = RuleStack.of(List.of(rule(1, MINUTE), rule(2, MINUTE)));
    assertThat(stack)
        .isEqualTo(RuleStack.of(List.of(rule(1, MINUTE), rule(2, MINUTE))))
        .isNotEqualTo(RuleStack.of(List.of(rule(2, MINUTE), rule(1, MINUTE))))
        .hasSameHashCodeAs(RuleStack.of(List.of(rule(1, MINUTE), rule(2, MINUTE))));
  }

  @Test
  void aPolicyNeedsANameALimitAndSomethingToDecide() {
    List<RuleStack> rules = List.of(RuleStack.of(List.of(rule(1, MINUTE))));
    assertRejected(
        () -> new Policy(" ", "limit", rules, Optional.empty()),
        "A policy needs a name and a limit, but they are ' ' and 'limit'");
    assertRejected(
        () -> new Policy("name", "", rules, Optional.empty()),
        "A policy needs a name and a limit, but they are 'name' and ''");
    assertRejected(
        () -> new Policy("name", "limit", List.of(), Optional.empty()),
        "The policy 'name' has neither rules nor a duplicate guard: add one of them");
  }

  @Test
  void aPolicyOfSeveralStacksIsNotOneSubjects() {
    RuleStack one = RuleStack.of(List.of(rule(1, MINUTE), rule(2, MINUTE.multipliedBy(2))));
    RuleStack other = RuleStack.of(List.of(rule(3, MINUTE)));
    Policy policy = new Policy("name", "limit", List.of(one, other), Optional.empty());
    assertThat(policy.rules()).extracting(Rule::count).containsExactly(1L, 2L, 3L);
    assertThat(policy.withBan(BanRule.of(2, MINUTE, MINUTE)).stacks())
        .hasSize(2)
        .allMatch(stack -> stack.ban().isPresent());
    assertRejected(
        () -> LimitRequest.of(policy, Subject.global()),
        "The policy 'name' has 2 stacks of rules, one for each subject: create a policy and a request for each stack, and join the requests with LimitRequest.and");
  }

  @Test
  void aDuplicateGuardIsOneRule() {
    RuleStack two = RuleStack.of(List.of(rule(1, MINUTE), rule(2, MINUTE)));
    assertRejected(
        () -> new Policy("name", "limit", List.of(), Optional.of(two)),
        "The duplicate guard of the policy 'name' has 2 rules: use exactly one");
    RuleStack banning =
        RuleStack.of(List.of(rule(1, MINUTE))).withBan(BanRule.of(1, MINUTE, MINUTE));
    assertRejected(
        () -> new Policy("name", "limit", List.of(), Optional.of(banning)),
        "The duplicate guard of the policy 'name' has a ban: remove it, since a duplicate is no violation");
  }

  @Test
  void aChargeCostsAtLeastOneUnit() {
    LimitRequest call = StoreHarness.call(rule(1, MINUTE));
    assertRejected(() -> call.withCost(0), "A call costs 0 units: use 1 to 1000000");
    assertRejected(() -> call.withCost(1_000_001), "A call costs 1000001 units: use 1 to 1000000");
  }

  @Test
  void aSubjectHasAKindAndAValue() {
    assertRejected(
        () -> new Subject("ip", ""),
        "A subject of kind 'ip' has an empty value: all callers without a value would be counted as one subject");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Subject("", "x"))
        .withMessageStartingWith("The subject kind name ''");
  }

  @Test
  void aSubjectDoesNotShowItsValue() {
    assertThat(new Subject("user", "alice")).hasToString("Subject[user]");
  }

  @Test
  void aRequestChargesSomethingAndNoKeyTwice() {
    LimitRequest call = StoreHarness.call(rule(1, MINUTE));
    Charge charge = call.charge(0);
    assertRejected(
        () -> new LimitRequest(call.policy(), List.of(), Optional.empty()),
        "A request under the policy 'policy' charges nothing");
    String twice =
        "A request under the policy 'policy' charges one key twice: put the rules of one subject into one stack";
    assertRejected(
        () -> new LimitRequest(call.policy(), List.of(charge, charge), Optional.empty()), twice);
    assertRejected(
        () -> new LimitRequest(call.policy(), List.of(charge), Optional.of(charge)), twice);
  }

  @Test
  void aRequestListsTheGuardLastAndItsCostIsOne() {
    LimitRequest call = StoreHarness.submit("form", rule(9, MINUTE)).withCost(5);
    assertThat(call.size()).isEqualTo(2);
    assertThat(call.allCharges()).containsExactly(call.charge(0), call.charge(1));
    assertThat(call.allCharges()).extracting(Charge::cost).containsExactly(5, 1);
    assertThat(call.charge(1)).isEqualTo(call.duplicate().orElseThrow());
  }

  @Test
  void oneCallIsOneSubmission() {
    LimitRequest call = StoreHarness.call("another subject", rule(1, MINUTE));
    LimitRequest form = StoreHarness.submit("form", rule(2, MINUTE));
    assertThat(call.and(form).allCharges())
        .containsExactly(call.charge(0), form.charge(0), form.charge(1));
    assertThat(form.and(call).duplicate()).isEqualTo(form.duplicate());
    LimitRequest other = LimitRequest.of(form.policy(), new Subject("user", "other"));
    assertRejected(
        () -> form.and(other),
        "The policies '%s' and '%s' both have a duplicate guard: one call is one submission, so keep the guard of one of them"
            .formatted(form.policy().name(), other.policy().name()));
  }
}
