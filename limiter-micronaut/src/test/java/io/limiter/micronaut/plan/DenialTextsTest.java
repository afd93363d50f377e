// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.SubjectSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The message that is used if several rules deny. */
class DenialTextsTest {

  private static final Rule SHORT =
      SlidingWindowLogRule.of(1, Duration.ofMinutes(1)).withName("short");
  private static final Rule LONG = SlidingWindowLogRule.of(1, Duration.ofHours(1)).withName("long");
  private static final Rule SAME = SlidingWindowLogRule.of(2, Duration.ofHours(1)).withName("same");

  private static final Map<String, DenialText> TEXTS =
      Map.of(
          "short", DenialText.message("short words"),
          "long", DenialText.message("long words"),
          "same", DenialText.message("same words"));

  @Test
  void theRuleWithTheLongestWaitHasTheMessage() {
    assertThat(message(1, 1, SHORT, LONG)).contains("long words");
    assertThat(message(1, 1, LONG, SHORT)).contains("long words");
  }

  /** Both wait for units of the same moment. */
  @Test
  void theFirstOfRulesWithEqualWaitsHasTheMessage() {
    assertThat(message(2, 1, LONG, SAME)).contains("long words");
    assertThat(message(2, 1, SAME, LONG)).contains("same words");
  }

  @Test
  void theRuleThatNeverAdmitsACallHasItsMessage() {
    assertThat(message(2, 2, SAME, SHORT)).contains("short words");
  }

  private static Optional<String> message(int used, int cost, Rule... rules) {
    Limiter limiter = new Limiter(new MemoryStore(100, () -> 1_000_000));
    LimitRequest call = LimitRequest.of(Policy.of("words", rules), new Subject("user", "ann"));
    limiter.record(call.withCost(used));
    Verdict verdict = limiter.acquire(call.withCost(cost)).toCompletableFuture().join();
    return plan(rules).text(verdict).message();
  }

  private static LimitPlan plan(Rule... rules) {
    RuleStack stack = RuleStack.of(List.of(rules));
    PlannedCharge charge =
        new PlannedCharge(
            "words",
            new SubjectSource.Address(),
            stack,
            stack,
            PlannedCharge.Cost.ONE,
            Optional.empty(),
            Optional.empty(),
            false,
            Optional.empty(),
            false);
    Map<String, String> names = Stream.of(rules).collect(Collectors.toMap(Rule::name, Rule::name));
    PolicyPlan policy =
        new PolicyPlan(
            "words",
            List.of(charge),
            Optional.empty(),
            TEXTS,
            names,
            CompletionPlan.Failure.USUAL,
            false,
            Optional.empty(),
            Optional.empty(),
            Map.of(),
            new LogThrottle());
    return LimitPlan.of("words", List.of(policy), true, false, false);
  }
}
