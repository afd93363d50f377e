// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.plan.CompletionPlan.ActualCost;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.time.LocalDate;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Rules of a method that count the same calls of one subject under one limit.
 *
 * @param limit what is limited
 * @param source who is counted
 * @param rules the rules
 * @param anonymousRules the rules for a caller that the source does not identify
 * @param cost what a call takes from each rule
 * @param actualCost computes the actual cost when the call completes; empty if it is the same
 * @param condition selects the calls that are charged; empty for all
 * @param observed whether its rules deny no call
 * @param anchor determines the day on which the periods of a subject begin; empty if none do
 * @param trial whether its rules are on trial, and observed
 */
@Internal
public record PlannedCharge(
    String limit,
    SubjectSource source,
    RuleStack rules,
    RuleStack anonymousRules,
    Cost cost,
    Optional<ActualCost> actualCost,
    Optional<Condition> condition,
    boolean observed,
    Optional<SubjectAnchor> anchor,
    boolean trial) {

  /** A shorter window is probably a mistaken unit. */
  private static final Duration SHORTEST = Duration.ofMillis(100);

  /** What determines what a call takes, and when the periods begin, by its arguments. */
  public Stream<CallExpression> byArguments() {
    return Stream.concat(
        cost.byArguments().stream(), anchor.flatMap(SubjectAnchor::byArguments).stream());
  }

  /**
   * The units that each call takes; 0 if its arguments determine them. A concurrency limit has one
   * place for a call, whatever it costs.
   */
  int units() {
    if (rules.permitDuration().isPresent()) {
      return 1;
    }
    return cost.byArguments().isPresent() ? 0 : cost.units();
  }

  /**
   * Whether it can be decided before arguments are bound, apart from other charges of a call: it
   * needs only the request, makes no call wait, and does not depend on how a call ends.
   */
  boolean mayBeEarly() {
    return source.kind() != SubjectSource.Kind.EXPRESSION
        && byArguments().findAny().isEmpty()
        && condition.flatMap(Condition::expression).isEmpty()
        && actualCost.isEmpty()
        && Stream.of(rules, anonymousRules)
            .allMatch(
                stack ->
                    stack.waiting().isEmpty()
                        && stack.permitDuration().isEmpty()
                        && stack.counting() == Counting.ALL);
  }

  /** What a call is charged. */
  Charge charge(CallValues call, int units) {
    Subject subject = call.subject(source);
    return anchor.isEmpty() || subject.isAnonymous()
        ? charge(StateKey.of(limit, subject), subject.isAnonymous(), units)
        : charge(subject, anchor.get().of(subject, call, rules), units);
  }

  /**
   * What a call with this subject is charged.
   *
   * @param day on which the periods of the subject begin
   */
  Charge charge(Subject subject, LocalDate day, int units) {
    RuleStack stack = subject.isAnonymous() ? anonymousRules : rules.forSubject(day);
    return new Charge(limit, StateKey.of(limit, subject).of(stack), stack, units, observed);
  }

  /**
   * What a call with this state key is charged.
   *
   * @param subject one of the state keys of the subject
   * @param anonymous whether the source does not identify the caller
   */
  Charge charge(StateKey subject, boolean anonymous, int units) {
    RuleStack stack = anonymous ? anonymousRules : rules;
    return new Charge(limit, subject.of(stack), stack, units, observed);
  }

  /** What is probably not intended, for warnings. */
  public Set<String> doubts() {
    Set<String> doubts = new LinkedHashSet<>();
    longLease().ifPresent(doubts::add);
    for (RuleStack stack : List.of(rules, anonymousRules)) {
      Optional<Duration> ban = stack.ban().map(BanRule::time);
      for (Rule rule : stack.rules()) {
        if (rule.window().compareTo(SHORTEST) < 0) {
          doubts.add(
              "the window of the rule '%s' is %s, which a command to Redis may take: use 100 ms or more"
                  .formatted(rule.name(), rule.window()));
        }
        if (ban.isPresent() && ban.get().compareTo(rule.window()) < 0) {
          doubts.add(
              "the ban of %s is shorter than the window of the rule '%s', %s, which may deny its subject for longer: lengthen the ban, or remove it"
                  .formatted(ban.get(), rule.name(), rule.window()));
        }
      }
    }
    return doubts;
  }

  /** What its lease costs under a log whose window is short for it. */
  private Optional<String> longLease() {
    Duration lease = rules.lease();
    if (lease.isZero()) {
      return Optional.empty();
    }
    return Stream.of(rules, anonymousRules)
        .flatMap(stack -> stack.rules().stream())
        .filter(rule -> rule instanceof SlidingWindowLogRule)
        .min(Comparator.comparing(Rule::window))
        .filter(rule -> !observed && lease.multipliedBy(50).compareTo(rule.window()) > 0)
        .map(
            rule ->
                "the lease of %s is longer than 2 %% of the window of the rule '%s', so while it denies calls it may admit only %s %% of its count: shorten the lease, or raise the count"
                    .formatted(
                        lease,
                        rule.name(),
                        100 * rule.window().toNanos() / rule.window().plus(lease).toNanos()));
  }

  /** The names of its rules, each once. */
  Set<String> ruleNames() {
    Set<String> names = new LinkedHashSet<>();
    rules.rules().forEach(rule -> names.add(rule.name()));
    anonymousRules.rules().forEach(rule -> names.add(rule.name()));
    return names;
  }

  /** Returns the same with other names of its rules. */
  PlannedCharge withRuleNames(Map<String, String> names) {
    return new PlannedCharge(
        limit,
        source,
        renamed(rules, names),
        renamed(anonymousRules, names),
        cost,
        actualCost,
        condition,
        observed,
        anchor,
        trial);
  }

  private static RuleStack renamed(RuleStack stack, Map<String, String> names) {
    List<Rule> rules =
        stack.rules().stream()
            .map(rule -> rule.withName(names.getOrDefault(rule.name(), rule.name())))
            .toList();
    RuleStack renamed =
        RuleStack.of(rules)
            .withCounting(stack.counting())
            .withLease(stack.lease())
            .withWarnAt(stack.warnAt());
    return stack.ban().map(renamed::withBan).orElse(renamed);
  }

  /**
   * What a call takes from each rule of one annotation.
   *
   * @param units the same for every call; 1 if the arguments of a call determine its cost
   * @param byArguments computes the cost of a call from its arguments; empty if it is the same
   */
  @Internal
  public record Cost(int units, Optional<CallExpression> byArguments) {

    /** One unit, the default. */
    public static final Cost ONE = new Cost(1);

    /** A cost that is the same for every call. */
    public Cost(int units) {
      this(units, Optional.empty());
    }

    /** A cost that is computed from the arguments of the method. */
    public Cost(CallExpression byArguments) {
      this(1, Optional.of(byArguments));
    }

    /** Whether it needs arguments that are bound after the gate. */
    public boolean needsArguments() {
      return byArguments.filter(CallExpression::needsArguments).isPresent();
    }

    @Override
    public String toString() {
      return byArguments.map(Object::toString).orElseGet(() -> Integer.toString(units));
    }
  }

  /**
   * What a rule counts: rules of one subject share a key only with those that count the same calls.
   */
  @Internal
  public enum CountedCalls {
    /** All calls. */
    ALL(Counting.ALL),
    /** Calls that failed. */
    FAILURES(Counting.FAILURES),
    /** Calls that did not fail. */
    SUCCESSES(Counting.SUCCESSES),
    /** All calls, which wait for their turn. */
    WAITING(Counting.ALL),
    /** Calls while they run. */
    IN_FLIGHT(Counting.ALL);

    private final Counting counting;

    CountedCalls(Counting counting) {
      this.counting = counting;
    }

    /** What the stack of such rules counts once a call has ended. */
    public Counting counting() {
      return counting;
    }

    /** Whether how a call has ended decides what it counts. */
    public boolean byOutcome() {
      return counting != Counting.ALL;
    }
  }
}
