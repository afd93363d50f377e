// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import java.util.List;

/**
 * What an instance knows about the use of one charge's rules. A store that decides in place of
 * another one starts from it; for authors of stores.
 *
 * @param ageMicros time since the verdict of the other store
 * @param rules the content of that verdict for each rule of the charge's stack, in their order;
 *     empty if there was none
 * @param bannedMicros the remaining time of the subject's ban in that verdict; zero if it was not
 *     banned
 * @param since units taken since then, oldest first
 */
public record KnownUse(
    long ageMicros, List<RuleUse> rules, long bannedMicros, List<PastUnits> since) {

  public KnownUse {
    rules = List.copyOf(rules);
    since = List.copyOf(since);
  }

  /**
   * The content of a verdict about one rule.
   *
   * @param remaining units that were left
   * @param returning the units that were to come back first
   * @param returnsAfterMicros the time until they come back
   * @param resetsAfterMicros the time until the rule is fully replenished
   * @param ownUnits an upper bound of the units that this process alone has used
   */
  public record RuleUse(
      long remaining,
      long returning,
      long returnsAfterMicros,
      long resetsAfterMicros,
      long ownUnits) {}

  /**
   * Units that were taken together.
   *
   * @param ageMicros time since they were taken
   * @param units the number of units
   */
  public record PastUnits(long ageMicros, int units) {}

  /** Returns this knowledge with other values for the rules. */
  public KnownUse withRules(List<RuleUse> other) {
    return new KnownUse(ageMicros, other, bannedMicros, since);
  }
}
