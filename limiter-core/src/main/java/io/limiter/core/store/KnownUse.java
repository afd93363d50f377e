// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import java.util.List;

/**
 * What is known of the use of one charge's rules, from which a store can go on that decides in
 * another's place; for authors of stores. Times are microseconds.
 *
 * @param ageMicros since the verdict of the other store
 * @param rules that verdict, for each rule of the charge's stack in their order; empty if there was
 *     none
 * @param bannedMicros for which the subject was banned then; zero if it was not
 * @param since what was taken since, oldest first
 */
public record KnownUse(
    long ageMicros, List<RuleUse> rules, long bannedMicros, List<PastUnits> since) {

  public KnownUse {
    rules = List.copyOf(rules);
    since = List.copyOf(since);
  }

  /**
   * What a verdict contains about one rule.
   *
   * @param remaining units that were left
   * @param returning the units that were to come back first
   * @param returnsAfterMicros the time until they do
   * @param resetsAfterMicros the time until the rule is as if never used
   * @param own an upper bound of what this process alone has used of the rule
   */
  public record RuleUse(
      long remaining, long returning, long returnsAfterMicros, long resetsAfterMicros, long own) {}

  /**
   * Units that were taken at once.
   *
   * @param ageMicros since they were taken
   * @param units how many
   */
  public record PastUnits(long ageMicros, int units) {}

  /** The same, of rules that have so many units left. */
  public KnownUse withRules(List<RuleUse> other) {
    return new KnownUse(ageMicros, other, bannedMicros, since);
  }
}
