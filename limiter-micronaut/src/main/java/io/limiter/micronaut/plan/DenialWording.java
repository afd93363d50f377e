// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.exception.DenialText;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Whose words a refused caller is answered with: those of the rule to wait longest for. */
final class DenialWording {

  private static final Duration NEVER = Duration.ofSeconds(Long.MAX_VALUE);

  private DenialWording() {}

  /**
   * @param texts by the names of rules
   * @param duplicates the guard, which has words of its own
   */
  static DenialText of(
      Verdict verdict, Map<String, DenialText> texts, Optional<DuplicateGuard> duplicates) {
    if (verdict.outcome() == Outcome.BANNED) {
      return DenialText.NONE;
    }
    if (verdict.outcome() == Outcome.DUPLICATE) {
      return duplicates.isPresent() ? duplicates.get().text() : DenialText.NONE;
    }
    RuleVerdict refusing = texts.isEmpty() ? null : longest(verdict);
    return refusing == null
        ? DenialText.NONE
        : texts.getOrDefault(refusing.rule().name(), DenialText.NONE);
  }

  private static @Nullable RuleVerdict longest(Verdict verdict) {
    RuleVerdict longest = null;
    for (RuleVerdict rule : verdict.rules()) {
      if (rule.refuses() && (longest == null || wait(rule).compareTo(wait(longest)) > 0)) {
        longest = rule;
      }
    }
    return longest;
  }

  /** Nobody knows when a place becomes free: another rule that refuses too has more to say. */
  private static Duration wait(RuleVerdict rule) {
    return rule.retryAfter().orElse(rule.tooCostly() ? NEVER : Duration.ZERO);
  }
}
