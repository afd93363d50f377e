// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Other limits for one subject under one limit key, until a time. Units that the subject has used
 * still count.
 *
 * @param tag stands for the subject under its limit key, as in the keys in Redis
 * @param policy the name of the policy for which it was made; other policies with the same limit
 *     key have it too
 * @param counts the counts of rules, by their names in code or in verdicts; empty if the rules do
 *     not limit the subject at all. Rules without a count here, and duplicate guards, stay as they
 *     are
 * @param left the time for which it still holds
 */
public record SubjectOverride(String tag, String policy, Map<String, Long> counts, Duration left)
    implements OverrideTable.Entry<SubjectOverride> {

  /** The longest time for which an override can be made: 7 days. */
  static final Duration MAX_TIME = Duration.ofDays(7);

  /** The shortest time for which an override can be made: one second. */
  static final Duration MIN_TIME = Duration.ofSeconds(1);

  /** The most overrides at a time, of all subjects and policies: {@value}. */
  public static final int MAX_OVERRIDES = 1_000;

  /** The most counts of one override: as many as several stacks have. */
  private static final int MAX_COUNTS = 8 * RuleStack.MAX_RULES;

  public SubjectOverride {
    counts = Map.copyOf(counts);
    if (counts.size() > MAX_COUNTS) {
      throw new IllegalArgumentException(
          "%s counts in one override: use %s at most".formatted(counts.size(), MAX_COUNTS));
    }
  }

  /** Whether the rules do not limit the subject at all. */
  public boolean unlimited() {
    return counts.isEmpty();
  }

  @Override
  public SubjectOverride withLeft(Duration time) {
    return new SubjectOverride(tag, policy, counts, time);
  }

  /**
   * Returns these rules with the counts of this override, under the same names. Their lease stays,
   * unless a token bucket became too small for it.
   *
   * @param codeNames see {@link io.limiter.core.Policy#codeNames()}
   */
  RuleStack change(RuleStack stack, Map<String, String> codeNames) {
    List<Rule> rules = stack.rules().stream().map(rule -> change(rule, codeNames)).toList();
    RuleStack changed =
        RuleStack.of(rules).withCounting(stack.counting()).withWarnAt(stack.warnAt());
    if (rules.stream().allMatch(rule -> stack.lease().compareTo(rule.longestLease()) <= 0)) {
      changed = changed.withLease(stack.lease());
    }
    return stack.ban().map(changed::withBan).orElse(changed);
  }

  private Rule change(Rule rule, Map<String, String> codeNames) {
    Long count = counts.get(codeNames.getOrDefault(rule.name(), rule.name()));
    if (count == null && !codeNames.containsValue(rule.name())) { // else it is another rule's
      count = counts.get(rule.name());
    }
    return count == null || count == rule.count() ? rule : rule.withCount(count);
  }

  /** The text that is stored: the policy, and a line for each count. */
  @Override
  public String text() {
    StringBuilder text = new StringBuilder(policy);
    new TreeMap<>(counts)
        .forEach((rule, count) -> text.append('\n').append(count).append(' ').append(rule));
    return text.toString();
  }

  /**
   * Reads what {@link #text()} has written.
   *
   * @return empty if it is something else
   */
  static Optional<SubjectOverride> of(String tag, String text, Duration left) {
    String[] lines = text.split("\n", -1);
    Map<String, Long> counts = new TreeMap<>();
    try {
      for (int i = 1; i < lines.length; i++) {
        int space = lines[i].indexOf(' ');
        long count = Long.parseLong(lines[i].substring(0, Math.max(space, 0)));
        counts.put(lines[i].substring(space + 1), count);
      }
      return Optional.of(new SubjectOverride(tag, lines[0], counts, left));
    } catch (IllegalArgumentException e) { // numbers too
      return Optional.empty();
    }
  }
}
