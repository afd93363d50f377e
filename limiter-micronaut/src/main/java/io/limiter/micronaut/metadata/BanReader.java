// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.BanRule;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.AnnotationValue;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Reads whether an annotation bans whom its rules refuse too often. */
@Singleton
final class BanReader {

  /** The annotation's own defaults: metadata holds only what was written. */
  static final int DEFAULT_VIOLATIONS = 5;

  static final long DEFAULT_SECONDS = 60;
  static final int DEFAULT_GROWTH = 1;
  static final Duration DEFAULT_LONGEST = Duration.ofHours(24);

  private static final String GROWTH = "growth";
  private static final String LONGEST = "longest";

  /**
   * The ban of an annotation. There must be somebody whom it can ban: it is never everybody, since
   * that would be an outage that any caller can bring about.
   *
   * @param rules the rules, by whom they count
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
                "it has no rules that could refuse: give it rules, or remove it");
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
                "its rules limit calls in flight, and nobody can know when a place is free: give it other rules, or remove it");
          }
          if (counted.stream().noneMatch(BanReader::canBan)) {
            throw limiter.error(
                "ban",
                text(some),
                "its rules count everybody together, and to ban everybody would be an outage: give it a rule that tells callers apart, or remove it");
          }
        });
    return ban;
  }

  private static boolean mayAbuse(List<RateRuleReader.Read> rules) {
    return rules.stream().anyMatch(rule -> rule.kind() != PlannedCharge.CountedCalls.IN_FLIGHT);
  }

  /** Whether those whom a rule counts may be banned. */
  static boolean canBan(SubjectSource counted) {
    return !(counted instanceof SubjectSource.Everybody);
  }

  private static Optional<BanRule> only(AnnotationMembers limiter) {
    List<AnnotationValue<io.limiter.micronaut.annotation.Ban>> bans =
        limiter.annotation().getAnnotations("ban", io.limiter.micronaut.annotation.Ban.class);
    if (bans.size() > 1) {
      throw limiter.error(
          "ban",
          bans.stream().map(AnnotationValue::getValues).toList(),
          "who is banned is banned once: leave one of them");
    }
    return bans.stream()
        .findFirst()
        .map(ban -> read(new AnnotationMembers(limiter.method(), limiter.name() + ".ban", ban)));
  }

  private static BanRule read(AnnotationMembers ban) {
    int violations = ban.annotation().intValue("violations").orElse(DEFAULT_VIOLATIONS);
    if (violations < 1 || violations > BanRule.MAX_VIOLATIONS) {
      throw ban.error("violations", violations, "give it 1 to " + BanRule.MAX_VIOLATIONS);
    }
    TimeUnit unit = ban.constant("timeUnit", TimeUnit.class).orElse(RateRuleReader.DEFAULT_UNIT);
    Duration within = time(ban, "within", unit);
    Duration time = time(ban, "time", unit);
    int growth = ban.annotation().intValue(GROWTH).orElse(DEFAULT_GROWTH);
    if (growth < 1 || growth > BanRule.MAX_GROWTH) {
      throw ban.error(GROWTH, growth, "give it 1 to " + BanRule.MAX_GROWTH);
    }
    return new BanRule(violations, within, time, growth, longest(ban, unit, time, growth));
  }

  /** A default that is not written is in seconds, whatever the unit is. */
  private static Duration time(AnnotationMembers ban, String member, TimeUnit unit) {
    return ban.has(member)
        ? AnnotatedTimes.read(ban, member, DEFAULT_SECONDS, unit)
        : Duration.ofSeconds(DEFAULT_SECONDS);
  }

  private static Duration longest(AnnotationMembers ban, TimeUnit unit, Duration time, int growth) {
    if (growth == 1) {
      ban.refuse(LONGEST, "it has no sense without a growth: give it one, or remove it");
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

  /** How a ban is told in messages. */
  static String text(BanRule ban) {
    return "%d within %s for %s%s"
        .formatted(
            ban.violations(),
            ban.within(),
            ban.time(),
            ban.growth() == 1 ? "" : " × %d up to %s".formatted(ban.growth(), ban.longest()));
  }
}
