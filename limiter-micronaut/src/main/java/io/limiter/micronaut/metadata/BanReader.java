// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.BanRule;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Reads the ban of an annotation. */
@Singleton
final class BanReader {

  /** The defaults of the annotation: metadata contains only the members that were written. */
  static final int DEFAULT_VIOLATIONS = 5;

  static final long DEFAULT_SECONDS = 60;
  static final int DEFAULT_GROWTH = 1;
  static final Duration DEFAULT_LONGEST = Duration.ofHours(24);

  private static final String GROWTH = "growth";
  private static final String LONGEST = "longest";

  /**
   * Reads the ban. At least one rule must count separate subjects: all calls together are never
   * banned, since any client could then cause an outage.
   *
   * @param rules the rules by their subjects
   */
  Optional<BanRule> read(
      AnnotationMembers limiter, Map<SubjectSource, List<RateRuleReader.Read>> rules) {
    Optional<BanRule> ban = only(limiter);
    ban.ifPresent(
        some -> {
          if (rules.isEmpty()) {
            throw limiter.error(
                "ban",
                text(some),
                "it has no rules that could deny calls: add rules, or remove it");
          }
          List<SubjectSource> counted =
              rules.entrySet().stream()
                  .filter(each -> mayAbuse(each.getValue()))
                  .map(Map.Entry::getKey)
                  .toList();
          if (counted.isEmpty()) {
            throw limiter.error(
                "ban",
                text(some),
                "its rules limit calls in flight, and the time until a permit is free is unknown: add other rules, or remove it");
          }
          if (counted.stream().noneMatch(BanReader::canBan)) {
            throw limiter.error(
                "ban",
                text(some),
                "its rules count all calls together, and banning all of them would be an outage: add a rule that distinguishes subjects, or remove it");
          }
        });
    return ban;
  }

  private static boolean mayAbuse(List<RateRuleReader.Read> rules) {
    return rules.stream().anyMatch(rule -> rule.kind() != PlannedCharge.CountedCalls.IN_FLIGHT);
  }

  /** Whether the subjects of a rule may be banned. */
  static boolean canBan(SubjectSource counted) {
    return !(counted instanceof SubjectSource.Everybody);
  }

  private static Optional<BanRule> only(AnnotationMembers limiter) {
    return limiter.nested("ban", Ban.class).map(BanReader::read);
  }

  private static BanRule read(AnnotationMembers ban) {
    int violations = ban.number("violations", DEFAULT_VIOLATIONS);
    if (violations < 1 || violations > BanRule.MAX_VIOLATIONS) {
      throw ban.error("violations", violations, "give it 1 to " + BanRule.MAX_VIOLATIONS);
    }
    TimeUnit unit = ban.constant("timeUnit", TimeUnit.class).orElse(RateRuleReader.DEFAULT_UNIT);
    Duration within = time(ban, "within", unit);
    Duration time = time(ban, "time", unit);
    int growth = ban.number(GROWTH, DEFAULT_GROWTH);
    if (growth < 1 || growth > BanRule.MAX_GROWTH) {
      throw ban.error(GROWTH, growth, "give it 1 to " + BanRule.MAX_GROWTH);
    }
    return new BanRule(violations, within, time, growth, longest(ban, unit, time, growth));
  }

  /** A default is always in seconds, whatever the unit. */
  private static Duration time(AnnotationMembers ban, String member, TimeUnit unit) {
    return ban.has(member)
        ? AnnotatedTimes.read(ban, member, DEFAULT_SECONDS, unit)
        : Duration.ofSeconds(DEFAULT_SECONDS);
  }

  private static Duration longest(AnnotationMembers ban, TimeUnit unit, Duration time, int growth) {
    if (growth == 1) {
      ban.reject(LONGEST, "it has no effect without a growth: set growth, or remove it");
      return time;
    }
    Duration longest =
        ban.has(LONGEST) ? AnnotatedTimes.read(ban, LONGEST, 0, unit) : DEFAULT_LONGEST;
    if (longest.compareTo(time) < 0) {
      throw ban.error(
          LONGEST,
          longest,
          "it is shorter than the first ban, %s: make it as long or longer".formatted(time));
    }
    return longest;
  }

  /** The text of a ban for messages. */
  static String text(BanRule ban) {
    return "%d within %s for %s%s"
        .formatted(
            ban.violations(),
            ban.within(),
            ban.time(),
            ban.growth() == 1 ? "" : " × %d up to %s".formatted(ban.growth(), ban.longest()));
  }
}
