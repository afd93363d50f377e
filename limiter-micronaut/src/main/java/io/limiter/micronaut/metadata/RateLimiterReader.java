// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Charge;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.CompletionPlan.ActualCost;
import io.limiter.micronaut.plan.Condition;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PlannedCharge.Cost;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.expressions.EvaluatedExpression;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads what an annotation says about all its rules: which calls they count, what a call costs, the
 * ban, and the response to a denial.
 */
@Singleton
final class RateLimiterReader {

  private static final String COST = "cost";
  private static final String RESULT_COST = "resultCost";
  private static final String CONDITION = "condition";
  private static final String FAILED_ON = "failedOn";
  private static final String BAN = "ban";
  private static final String GROWTH = "growth";
  private static final String LONGEST = "longest";

  // The defaults of @Ban: metadata contains only the members that were written.
  private static final int DEFAULT_VIOLATIONS = 5;
  private static final long DEFAULT_SECONDS = 60;
  private static final int DEFAULT_GROWTH = 1;
  private static final Duration DEFAULT_LONGEST = Duration.ofHours(24);

  private final NamedBeans beans;
  private final Consumer<String> requireUsable;

  @Inject
  RateLimiterReader(NamedBeans beans, DenialMessages messages) {
    this(beans, messages::requireUsable);
  }

  /**
   * @param requireUsable rejects unusable messages by an {@link IllegalArgumentException}
   */
  RateLimiterReader(NamedBeans beans, Consumer<String> requireUsable) {
    this.beans = beans;
    this.requireUsable = requireUsable;
  }

  /**
   * Reads these values.
   *
   * @param rules the rules by their subjects
   * @param anonymousRules those for calls without a subject
   * @param method null for a policy that exists only in the configuration
   */
  ChargePlanner.AnnotationValues read(
      AnnotationMembers limiter,
      Map<SubjectSource, List<RateRuleReader.Read>> rules,
      List<RateRuleReader.Read> anonymousRules,
      @Nullable LimitedMethod method,
      Optional<Condition> condition) {
    List<Rule> all =
        Stream.concat(rules.values().stream().flatMap(List::stream), anonymousRules.stream())
            .map(RateRuleReader.Read::rule)
            .toList();
    boolean costly = rules.values().stream().anyMatch(RateLimiterReader::takeUnits);
    return new ChargePlanner.AnnotationValues(
        limiter,
        denied(limiter),
        cost(limiter, all),
        method == null ? Optional.empty() : resultCost(limiter, costly, method.streams()),
        ban(limiter, rules),
        condition);
  }

  /** Whether one of the rules takes the units of a call; a concurrency limit takes one permit. */
  private static boolean takeUnits(List<RateRuleReader.Read> rules) {
    return rules.stream().anyMatch(rule -> rule.kind() != PlannedCharge.CountedCalls.IN_FLIGHT);
  }

  /** The condition of an annotation; empty if it limits all calls. */
  Optional<Condition> condition(AnnotationMembers limiter) {
    if (!limiter.hasText(CONDITION)) {
      return Optional.empty();
    }
    if (limiter.raw(CONDITION) instanceof EvaluatedExpression) {
      return Optional.of(
          new Condition.OfArguments(SubjectSourceReader.expression(limiter, CONDITION, "")));
    }
    String name = limiter.text(CONDITION).orElse("");
    NamedBeans.FoundBean<LimitCondition> bean =
        beans
            .named(LimitCondition.class, name)
            .orElseThrow(
                () ->
                    limiter.error(
                        CONDITION,
                        name,
                        "no bean of type %s has this name: give one @Named(\"%s\"), or write an expression over the arguments in the annotation, such as \"#{!order.draft}\""
                            .formatted(LimitCondition.class.getName(), name)));
    return Optional.of(new Condition.OfRequest(name, bean.object()));
  }

  /** The completions that count as failures; empty if no rule depends on them. */
  Optional<CompletionPlan.Failure> failure(
      AnnotationMembers limiter, Map<SubjectSource, List<RateRuleReader.Read>> rules) {
    if (rules.values().stream().flatMap(List::stream).noneMatch(rule -> rule.kind().byOutcome())) {
      limiter.reject(
          FAILED_ON,
          "it has no effect without a rule with counts = FAILURES or SUCCESSES: add one, or remove it");
      return Optional.empty();
    }
    return Optional.of(
        limiter.has(FAILED_ON)
            ? new CompletionPlan.Failure(
                Optional.of(
                    limiter.statuses(
                        FAILED_ON,
                        "name statuses, or remove it: then any exception is a failure, and any status of 400 and above")))
            : CompletionPlan.Failure.USUAL);
  }

  /**
   * @param rules all rules that take the cost
   */
  private static Cost cost(AnnotationMembers limiter, List<Rule> rules) {
    if (!limiter.hasText(COST)) {
      return Cost.ONE;
    }
    if (rules.isEmpty()) {
      limiter.reject(COST, "there is no rule to take it from: add rules, or remove it");
    }
    if (rules.stream().allMatch(rule -> rule instanceof ConcurrencyLimitRule)) {
      limiter.reject(
          COST,
          "a concurrency limit takes one permit for each call, whatever its cost: add other rules, or remove it");
    }
    if (limiter.raw(COST) instanceof EvaluatedExpression) {
      return new Cost(SubjectSourceReader.expression(limiter, COST, "it is not an expression"));
    }
    String text = limiter.text(COST).orElse("1");
    int units = units(limiter, text);
    rules.stream()
        // Only the algorithm itself knows the meaning of its count.
        .filter(rule -> !(rule instanceof CustomRule))
        .filter(rule -> !(rule instanceof ConcurrencyLimitRule)) // a call takes one permit
        .filter(rule -> rule.capacity() < units)
        .findFirst()
        .ifPresent(
            rule -> {
              throw limiter.correctableError(
                  COST,
                  text,
                  "the rule '%s' admits %d at once, so no call could ever be admitted: lower the cost, or raise its count"
                      .formatted(rule.name(), rule.capacity()));
            });
    return new Cost(units);
  }

  private static int units(AnnotationMembers limiter, String text) {
    try {
      int units = Integer.parseInt(text.strip());
      if (units >= 1 && units <= Charge.MAX_COST) {
        return units;
      }
    } catch (NumberFormatException noNumber) {
      // Rejected below.
    }
    throw limiter.error(
        COST,
        text,
        "give it 1 to %d, or an expression over the arguments, such as \"#{count}\""
            .formatted(Charge.MAX_COST));
  }

  /**
   * The bean that computes the actual cost of a call.
   *
   * @param costly whether the annotation has rules that take a cost
   * @param streams whether the method returns a stream of values
   */
  private Optional<ActualCost> resultCost(
      AnnotationMembers limiter, boolean costly, boolean streams) {
    if (!limiter.has(RESULT_COST)) {
      return Optional.empty();
    }
    if (!costly) {
      limiter.reject(
          RESULT_COST,
          "no rule takes a cost: a concurrency limit takes one permit for each call: add other rules, or remove it");
    }
    NamedBeans.FoundBean<ResultCost> bean = beans.ofType(limiter, RESULT_COST, ResultCost.class);
    if (!limiter.hasText(COST)) {
      throw limiter.error(
          RESULT_COST,
          bean.name(),
          "a call takes its units before its result is known: write cost = \"…\", an estimate");
    }
    if (streams) {
      throw limiter.error(
          RESULT_COST,
          bean.name(),
          "the method streams, so there is no result to compute the cost from: let it return a list, a Mono or a CompletionStage, or remove it");
    }
    return Optional.of(new ActualCost(bean.type(), bean.object()));
  }

  /**
   * At least one rule must count separate subjects: all calls together are never banned, since any
   * client could then cause an outage.
   */
  private static Optional<BanRule> ban(
      AnnotationMembers limiter, Map<SubjectSource, List<RateRuleReader.Read>> rules) {
    Optional<BanRule> ban = limiter.nested(BAN, Ban.class).map(RateLimiterReader::ban);
    ban.ifPresent(
        some -> {
          if (rules.isEmpty()) {
            throw limiter.error(
                BAN, text(some), "it has no rules that could deny calls: add rules, or remove it");
          }
          List<SubjectSource> counted =
              rules.entrySet().stream()
                  .filter(each -> takeUnits(each.getValue()))
                  .map(Map.Entry::getKey)
                  .toList();
          if (counted.isEmpty()) {
            throw limiter.error(
                BAN,
                text(some),
                "its rules limit calls in flight, and the time until a permit is free is unknown: add other rules, or remove it");
          }
          if (counted.stream().noneMatch(RateLimiterReader::canBan)) {
            throw limiter.error(
                BAN,
                text(some),
                "its rules count all calls together, and banning all of them would be an outage: add a rule that distinguishes subjects, or remove it");
          }
        });
    return ban;
  }

  /** Whether the subjects of a rule may be banned. */
  static boolean canBan(SubjectSource counted) {
    return !(counted instanceof SubjectSource.Everybody);
  }

  private static BanRule ban(AnnotationMembers ban) {
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
        ? ban.time(member, DEFAULT_SECONDS, unit)
        : Duration.ofSeconds(DEFAULT_SECONDS);
  }

  private static Duration longest(AnnotationMembers ban, TimeUnit unit, Duration time, int growth) {
    if (growth == 1) {
      ban.reject(LONGEST, "it has no effect without a growth: set growth, or remove it");
      return time;
    }
    Duration longest = ban.has(LONGEST) ? ban.time(LONGEST, 0, unit) : DEFAULT_LONGEST;
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

  /** The response to a call that a rule denied. */
  private DenialText denied(AnnotationMembers limiter) {
    return orNone(new DenialText(status(limiter), code(limiter), message(limiter)));
  }

  /** The response to a duplicate, whose message is by default that of the limiter. */
  DenialText duplicate(AnnotationMembers details, AnnotationMembers limiter) {
    return orNone(
        new DenialText(
            status(details), code(details), message(details).or(() -> message(limiter))));
  }

  private static DenialText orNone(DenialText text) {
    return text.equals(DenialText.NONE) ? DenialText.NONE : text;
  }

  private Optional<String> message(AnnotationMembers limiter) {
    Optional<String> message = limiter.text("message");
    try {
      message.ifPresent(requireUsable);
    } catch (IllegalArgumentException e) {
      throw limiter.error("message", message.orElse(""), String.valueOf(e.getMessage()));
    }
    return message;
  }

  private static Optional<String> code(AnnotationMembers limiter) {
    Optional<String> code = limiter.text("code");
    if (code.filter(String::isBlank).isPresent()) {
      throw limiter.error("code", code.orElse(""), "it is blank: write a code, or leave it out");
    }
    return code;
  }

  private static OptionalInt status(AnnotationMembers limiter) {
    OptionalLong status = limiter.number("status");
    if (status.isEmpty()) {
      return OptionalInt.empty();
    }
    long number = status.getAsLong();
    if (number < 400 || number > 599) {
      throw limiter.error("status", number, "give it an error status, 400 to 599");
    }
    return OptionalInt.of((int) number);
  }
}
