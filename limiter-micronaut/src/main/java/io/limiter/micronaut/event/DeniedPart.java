// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.event;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.Optional;

/**
 * The part of a request that is denied.
 *
 * @param index the index of its charge in the request; the duplicate guard comes last
 * @param charge what it would have charged
 * @param rule the name of the rule that denies it for the longest time; empty if none does
 */
@Internal
public record DeniedPart(int index, Charge charge, String rule) {

  /** The part that a verdict denies; the first one if no single one is denied. */
  public static DeniedPart of(LimitRequest asked, Verdict verdict) {
    if (verdict.outcome() == Outcome.DUPLICATE) {
      return new DeniedPart(asked.size() - 1, asked.charge(asked.size() - 1), "");
    }
    boolean banned = verdict.outcome() == Outcome.BANNED;
    Optional<RuleVerdict> denying = verdict.denying();
    if (denying.isPresent()) {
      int longest = verdict.rules().indexOf(denying.get());
      boolean whole = verdict.rules().size() == rules(asked);
      int end = 0;
      for (int c = 0; c < asked.charges().size(); c++) {
        Charge charge = asked.charge(c);
        end += charge.stack().rules().size();
        // An override may have removed a charge: then only the name shows whose rule it is.
        boolean found = whole ? longest < end : has(charge, denying.get().rule().name());
        if (found && !(banned && noBan(charge))) {
          return new DeniedPart(c, charge, denying.get().rule().name());
        }
      }
    }
    for (int c = 0; banned && c < asked.charges().size(); c++) {
      if (!noBan(asked.charge(c))) {
        return new DeniedPart(c, asked.charge(c), "");
      }
    }
    return new DeniedPart(0, asked.charge(0), "");
  }

  private static int rules(LimitRequest asked) {
    return asked.charges().stream().mapToInt(charge -> charge.stack().rules().size()).sum();
  }

  private static boolean has(Charge charge, String rule) {
    return charge.stack().rules().stream().anyMatch(each -> each.name().equals(rule));
  }

  private static boolean noBan(Charge charge) {
    return charge.stack().ban().isEmpty();
  }

  /**
   * Whether the ban begins with this call: then what remains of it is its whole duration, to the
   * microsecond. That of a later call is less.
   */
  boolean banBegins(Verdict verdict) {
    Optional<BanRule> ban = charge.stack().ban();
    if (ban.isEmpty() || verdict.ban().isEmpty()) {
      return false;
    }
    Duration rest = verdict.ban().get();
    Duration longest = ban.get().longest();
    Duration whole = ban.get().time();
    while (whole.compareTo(rest) < 0 && whole.compareTo(longest) < 0 && ban.get().growth() > 1) {
      Duration grown = whole.multipliedBy(ban.get().growth());
      whole = grown.compareTo(longest) < 0 ? grown : longest;
    }
    return whole.equals(rest);
  }
}
