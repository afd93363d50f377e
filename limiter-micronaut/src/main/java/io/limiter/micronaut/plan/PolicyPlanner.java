// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.CountCondition;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.StreamEnd;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.definition.CorrectableException;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyDefinition.RuleList;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Expressible;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.limiter.micronaut.definition.Refusals;
import io.limiter.micronaut.definition.Refusals.Trait;
import io.limiter.micronaut.definition.ResultKind;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.CompletionPlan.ActualCost;
import io.limiter.micronaut.plan.CompletionPlan.Steps;
import io.limiter.micronaut.plan.PlannedCharge.Cost;
import io.limiter.micronaut.plan.PlannedCharge.CountedCalls;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.AnnotationClassValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Plans one policy of a method, by its definitions. Rules that count the same calls of one subject
 * under one limit key share its state, so they form one stack.
 */
final class PolicyPlanner {

  /** Ends the limit key of observed rules: those that are enforced may have the same shape. */
  private static final String OBSERVED = " observed";

  /** Ends that of rules on trial. */
  private static final String TRIAL = " trial";

  // The defaults of @Ban.
  private static final long DEFAULT_VIOLATIONS = 5;
  private static final Duration DEFAULT_BAN = Duration.ofSeconds(60);
  private static final long DEFAULT_GROWTH = 1;
  private static final Duration DEFAULT_LONGEST = Duration.ofHours(24);

  /**
   * One key in the store.
   *
   * @param subjects who is counted, however calls without a subject are limited
   * @param kind the kind of calls that are counted
   * @param observed whether its rules deny no call
   * @param trial whether these are on trial, and observed
   */
  private record ChargeKey(
      String limit, SubjectSource subjects, CountedCalls kind, boolean observed, boolean trial) {}

  private record Price(Cost cost, Optional<ActualCost> actual) {

    /** A call in flight takes one permit. */
    static final Price ONE = new Price(Cost.ONE, Optional.empty());

    @Override
    public String toString() {
      return cost + actual.map(bean -> ", resultCost = " + bean).orElse("");
    }
  }

  /** The rules of one key, and what they have in common. */
  private static final class ChargeDraft {
    final List<Rule> known = new ArrayList<>();
    final List<Rule> anonymous = new ArrayList<>();
    boolean deniesAnonymous;
    final Optional<Condition> condition;
    @Nullable Price price;
    @Nullable BanRule ban;
    @Nullable Sourced<Duration> lease;
    @Nullable Sourced<Double> warnAt;
    Optional<SubjectAnchor> anchor = Optional.empty();

    ChargeDraft(Optional<Condition> condition) {
      this.condition = condition;
    }
  }

  private final MethodPlanner.PlanningBeans parts;
  private final String name;
  private final String description;
  private final @Nullable LimitedMethod method;
  private final Map<ChargeKey, ChargeDraft> drafts = new LinkedHashMap<>();
  private final Map<String, DenialText> texts = new HashMap<>();
  private final Map<String, String> codeNames = new HashMap<>();
  private final Set<String> writtenNames = new TreeSet<>();
  // The name of a rule follows from its numbers, so most rules have been read for their names.
  private final Map<MemberSet, RuleReader.RuleSpec> rules = new HashMap<>();
  private Optional<DuplicateGuard> guard = Optional.empty();
  private CompletionPlan.@Nullable Failure failure;
  private boolean observed;
  private Optional<Origin> beforeSecurity = Optional.empty();
  private Optional<Origin> early = Optional.empty();

  /**
   * @param description the method's class, name and parameter types
   * @param method null for a policy that exists only in settings, whose name is the description
   */
  PolicyPlanner(
      MethodPlanner.PlanningBeans parts,
      String name,
      String description,
      @Nullable LimitedMethod method) {
    this.parts = parts;
    this.name = name;
    this.description = description;
    this.method = method;
  }

  /**
   * Adds a definition.
   *
   * @param usualLimit the limit key unless the definition has one
   * @param guards whether it has the duplicate guard that counts, that of the nearest place
   * @param ordinals distinguishes the expressions of one limit key
   */
  void add(PolicyDefinition policy, String usualLimit, boolean guards, Ordinals ordinals) {
    MemberSet members = policy.members();
    Optional<Condition> condition = condition(members);
    String limit =
        members
            .get(PolicyMember.KEY)
            .orElseGet(() -> condition.map(it -> usualLimit + " if " + it).orElse(usualLimit));
    Anonymous anonymous = parts.subjects().anonymous(members, policy.has(RuleList.ANONYMOUS));
    Function<MemberSet, SubjectSource> subjects =
        each -> {
          each.find(PolicyMember.SUBJECT)
              .ifPresent(written -> MethodChecks.requireValue(method, written, false));
          return parts.subjects().read(each, anonymous, text -> ordinals.of(limit, text));
        };
    SubjectSource source = subjects.apply(members);
    Set<String> taken = new HashSet<>();
    Map<String, MemberSet> written = policy.changed(RuleList.RULES, this::nameOf, taken);
    boolean wantsGuard = wantsGuard(members);
    if (!policy.unlimited()) {
      addRules(policy, limit, source, subjects, condition, written, taken);
    }
    writtenNames.addAll(taken);
    observed |= members.isTrue(PolicyMember.OBSERVE);
    if (guards) {
      guard = Optional.of(guard(members, limit, source, condition));
    }
    if (beforeSecurity.isEmpty() && members.isTrue(PolicyMember.BEFORE_SECURITY)) {
      beforeSecurity = members.find(PolicyMember.BEFORE_SECURITY).map(Sourced::origin);
    }
    if (early.isEmpty() && members.isTrue(PolicyMember.EARLY)) {
      early = members.find(PolicyMember.EARLY).map(Sourced::origin);
    }
    if (written.isEmpty() && !wantsGuard && !members.has(PolicyMember.DUPLICATE)) {
      throw new CorrectableException(
          members.mistake(
              "rules",
              "{}",
              "nothing is limited: add a rule to it, add a @RateRule in the same place, or set preventDuplicate"));
    }
  }

  private void addRules(
      PolicyDefinition policy,
      String limit,
      SubjectSource source,
      Function<MemberSet, SubjectSource> subjects,
      Optional<Condition> condition,
      Map<String, MemberSet> written,
      Set<String> taken) {
    MemberSet members = policy.members();
    Optional<CountedAnswers> countIf = countIf(members);
    List<NamedRule> rules = new ArrayList<>();
    Function<MemberSet, SubjectSource> counted =
        rule -> SubjectReader.isWrittenIn(rule) ? subjects.apply(rule) : source;
    written.forEach(
        (codeName, rule) -> rules.add(named(counted.apply(rule), rule, codeName, countIf, false)));
    policy
        .changed(RuleList.TRIAL, this::nameOf, taken)
        .forEach(
            (codeName, rule) ->
                rules.add(named(counted.apply(rule), rule, codeName, countIf, true)));
    // Those of one subject together, first those that the definition itself counts.
    List<SubjectSource> sources = new ArrayList<>(List.of(source));
    Set<Trait> traits = EnumSet.noneOf(Trait.class);
    addIf(source.mayBeAnonymous(), Trait.ANONYMOUS_CALLERS, traits);
    List<NamedRule> known = new ArrayList<>();
    for (NamedRule rule : rules) {
      traits.add(Trait.RULES);
      addIf(rule.source().mayBeAnonymous(), Trait.ANONYMOUS_CALLERS, traits);
      addIf(rule.kind().byOutcome(), Trait.OUTCOMES, traits);
      addIf(rule.takesUnits(), Trait.UNITS, traits);
      addIf(rule.takesUnits() && canBan(rule.source()), Trait.SUBJECTS, traits);
      if (!sources.contains(rule.source())) {
        sources.add(rule.source());
      }
      if (!rule.trial() && rule.source().equals(source)) {
        known.add(rule);
      }
    }
    rules.sort(Comparator.comparing(rule -> sources.indexOf(rule.source())));
    Refusals.POLICY.check(members, traits);
    List<NamedRule> others = anonymousRules(policy, source, known, taken, countIf);
    List<NamedRule> all = new ArrayList<>(rules);
    all.addAll(others);
    if (traits.contains(Trait.OUTCOMES)) {
      failure(members, countIf);
    }
    CommonToRules values =
        new CommonToRules(
            members,
            text(members),
            new Price(cost(members, all), resultCost(members, rules)),
            members.hasGroup("ban") ? Optional.of(ban(members)) : Optional.empty(),
            lease(members),
            warnAt(members),
            condition);
    if (others != known && !(haveSameKinds(known, others) && haveSameKinds(others, known))) {
      throw members.mistake(
          anonymousRules(members),
          names(others),
          "they replace the rules but count other calls: let both count the same kinds of calls (all, failures, successes, in flight, waiting), enforced or observed");
    }
    Map<ChargeKey, List<NamedRule>> byKey = new LinkedHashMap<>();
    for (NamedRule rule : rules) {
      byKey
          .computeIfAbsent(
              new ChargeKey(
                  rule.trial() ? limit + TRIAL : rule.observed() ? limit + OBSERVED : limit,
                  rule.source().withAnonymous(Anonymous.ADDRESS),
                  rule.kind(),
                  rule.observed(),
                  rule.trial()),
              any -> new ArrayList<>())
          .add(rule);
    }
    byKey.forEach(
        (key, some) -> {
          SubjectSource subject = some.get(0).source();
          ChargeDraft draft = agree(key, values);
          // Calls without a subject are denied if any definition denies them.
          draft.deniesAnonymous |= subject.anonymous() == Anonymous.REJECT;
          some.forEach(rule -> requireOneAnchor(rule, draft));
          Map<RuleReader.RuleSpec, Rule> distinct = new HashMap<>();
          put(some, draft.known, distinct, values.text());
          put(
              subject.equals(source) && !key.trial()
                  ? others.stream().filter(rule -> rule.isOf(some.get(0))).toList()
                  : some,
              draft.anonymous,
              distinct,
              values.text());
        });
  }

  /** With a condition on their answers, calls that count are successes of the rule. */
  private NamedRule named(
      SubjectSource counted,
      MemberSet rule,
      String codeName,
      Optional<CountedAnswers> countIf,
      boolean trial) {
    Set<Trait> traits = EnumSet.noneOf(Trait.class);
    addIf(trial, Trait.TRIAL, traits);
    addIf(countIf.isPresent(), Trait.COUNT_IF, traits);
    Refusals.RULE_OF_POLICY.check(rule, traits);
    RuleReader.RuleSpec read = read(rule);
    boolean selects = countIf.isPresent() && read.kind() != CountedCalls.IN_FLIGHT;
    MethodChecks.requireSeenCompletion(method, rule, read.kind());
    return new NamedRule(
        counted,
        read,
        selects ? CountedCalls.SUCCESSES : read.kind(),
        codeName,
        trial || isObserved(rule),
        trial);
  }

  /** The rules of one subject share its state, which one day moves. */
  private void requireOneAnchor(NamedRule rule, ChargeDraft draft) {
    Optional<SubjectAnchor> anchor = rule.read().anchor();
    if (anchor.isPresent()) {
      String remedy =
          rule.source().kind() == SubjectSource.Kind.EVERYBODY
              ? "all calls together have no day of their own: write a local time such as 2024-01-01T00:00"
              : draft.anchor.filter(other -> !other.equals(anchor.get())).isPresent()
                  ? "another rule counts the same subject with anchor = %s: use one anchor for both"
                      .formatted(draft.anchor.get())
                  : "";
      if (!remedy.isEmpty()) {
        throw Origin.annotated(description, "@RateRule.fixedWindow.anchor", anchor.get())
            .mistake(remedy);
      }
      draft.anchor = anchor;
    }
  }

  private static void addIf(boolean has, Trait trait, Set<Trait> traits) {
    if (has) {
      traits.add(trait);
    }
  }

  private static boolean isObserved(MemberSet rule) {
    return rule.isTrue(PolicyMember.OBSERVE);
  }

  private RuleReader.RuleSpec read(MemberSet rule) {
    return rules.computeIfAbsent(rule, parts.rules()::read);
  }

  private String nameOf(MemberSet rule) {
    return read(rule).rule().name();
  }

  /** A rule with the name that it has in the code. */
  private record NamedRule(
      SubjectSource source,
      RuleReader.RuleSpec read,
      CountedCalls kind,
      String codeName,
      boolean observed,
      boolean trial) {

    Rule rule() {
      return read.rule();
    }

    /** Whether it counts the same kind of calls, enforced or observed as another one. */
    boolean isOf(NamedRule other) {
      return kind() == other.kind() && observed == other.observed;
    }

    /** Whether it takes the units of a call; a concurrency limit takes one permit. */
    boolean takesUnits() {
      return kind() != CountedCalls.IN_FLIGHT;
    }
  }

  /** The values that one definition has for all its rules. */
  private record CommonToRules(
      MemberSet policy,
      DenialText text,
      Price price,
      Optional<BanRule> ban,
      Optional<Sourced<Duration>> lease,
      Optional<Sourced<Double>> warnAt,
      Optional<Condition> condition) {}

  private List<NamedRule> anonymousRules(
      PolicyDefinition policy,
      SubjectSource source,
      List<NamedRule> otherwise,
      Set<String> taken,
      Optional<CountedAnswers> countIf) {
    if (!policy.has(RuleList.ANONYMOUS)) {
      return otherwise;
    }
    MemberSet members = policy.members();
    if (!source.mayBeAnonymous()) {
      throw members.mistake(anonymousRules(members), "{…}", Refusals.NEVER_ANONYMOUS);
    }
    List<NamedRule> read = new ArrayList<>();
    policy
        .changed(RuleList.ANONYMOUS, this::nameOf, taken)
        .forEach(
            (codeName, rule) -> {
              Refusals.RULE_OF_POLICY.check(rule, Set.of(Trait.ANONYMOUS_RULES));
              read.add(named(source, rule, codeName, countIf, false));
            });
    if (otherwise.isEmpty() || read.isEmpty() || source.anonymous() == Anonymous.REJECT) {
      throw members.mistake(
          anonymousRules(members),
          names(read),
          "they replace the rules for calls without a subject, which anonymous = REJECT would deny: set rules, these and anonymous = ADDRESS");
    }
    return read;
  }

  /** The name of that list in the place of these members. */
  private static String anonymousRules(MemberSet members) {
    return members.place().startsWith(PoliciesConfiguration.PREFIX)
        ? RuleList.ANONYMOUS.path()
        : RuleList.ANONYMOUS.annotated();
  }

  private static List<String> names(List<NamedRule> rules) {
    return rules.stream().map(each -> each.rule().name()).toList();
  }

  private static boolean haveSameKinds(List<NamedRule> rules, List<NamedRule> others) {
    return rules.stream().allMatch(rule -> others.stream().anyMatch(rule::isOf));
  }

  private Optional<Condition> condition(MemberSet policy) {
    return policy
        .find(PolicyMember.CONDITION)
        .map(
            written ->
                parts
                    .beans()
                    .expressionOrBean(
                        written,
                        Condition::ofArguments,
                        LimitCondition.class,
                        ", or write an expression over the arguments in the annotation, such as \"#{!order.draft}\"",
                        Condition::ofBean));
  }

  private Optional<CountedAnswers> countIf(MemberSet policy) {
    Optional<Sourced<Expressible>> written = policy.find(PolicyMember.COUNT_IF);
    if (written.isEmpty()) {
      return Optional.empty();
    }
    MethodChecks.requireSeenCompletion(method, written.get(), "count all of its calls");
    return Optional.of(
        parts
            .beans()
            .expressionOrBean(
                written.get(),
                CountedAnswers::ofAnswer,
                CountCondition.class,
                ", or write an expression over the answer in the annotation, such as \"#{status == 404}\"",
                CountedAnswers::ofBean));
  }

  /** All definitions of one policy must agree on which calls have failed. */
  private void failure(MemberSet policy, Optional<CountedAnswers> countIf) {
    CompletionPlan.Failure written =
        new CompletionPlan.Failure(
            policy
                .find(PolicyMember.FAILED_ON)
                .map(
                    statuses ->
                        statuses(
                            statuses,
                            "name statuses, or remove it: then any exception is a failure, and any status of 400 and above")),
            countIf);
    if (failure != null && !failure.equals(written)) {
      throw countIf.isPresent() || failure.counted().isPresent()
          ? policy.mistake(
              PolicyMember.COUNT_IF,
              countIf.map(CountedAnswers::text).orElse(""),
              "another @RateLimiter of this policy and method has countIf = \"%s\": set both to the same, or give one a name of its own"
                  .formatted(failure.counted().map(CountedAnswers::text).orElse("")))
          : policy.mistake(
              PolicyMember.FAILED_ON,
              text(written),
              "another @RateLimiter of this method has failedOn = %s, and a call either fails or does not: set both to the same"
                  .formatted(text(failure)));
    }
    failure = written;
  }

  private static String text(CompletionPlan.Failure failure) {
    return failure.statuses().map(Set::toString).orElse("{}");
  }

  /** The statuses in a member, 400 to 599. */
  static Set<Integer> statuses(Sourced<List<Integer>> written, String ifEmpty) {
    if (written.value().isEmpty()) {
      throw written.origin().mistake(ifEmpty);
    }
    for (int status : written.value()) {
      if (status < 400 || status > 599) {
        throw new Origin(
                written.origin().key(),
                written.origin().isSetting() ? written.origin().value() : "" + status,
                written.origin().source())
            .mistake("set it to error statuses, 400 to 599");
      }
    }
    return new TreeSet<>(written.value());
  }

  private Cost cost(MemberSet policy, List<NamedRule> rules) {
    Optional<Sourced<Expressible>> cost = policy.find(PolicyMember.COST);
    if (cost.isEmpty()) {
      return Cost.ONE;
    }
    Optional<CallExpression> expression = cost.get().value().expression();
    if (expression.isPresent()) {
      MethodChecks.requireValue(method, cost.get(), true);
      return new Cost(expression.get());
    }
    int units = units(cost.get());
    requireAdmissible(rules, units, cost.get().origin(), "cost");
    return new Cost(units);
  }

  /** Rejects units that no call, or no stream, could ever take at once. */
  private static void requireAdmissible(
      List<NamedRule> rules, int units, Origin written, String member) {
    for (NamedRule named : rules) {
      Rule rule = named.rule();
      // Only the algorithm itself knows the meaning of its count.
      boolean counted = named.takesUnits() && !(rule instanceof CustomRule) && rule.count() > 0;
      if (counted && rule.capacity() < units) {
        throw new CorrectableException(
            written.mistake(
                "the rule '%s' admits %s at once, so no call could ever be admitted: lower the %s, or raise its count"
                    .formatted(rule.name(), rule.capacity(), member)));
      }
    }
  }

  private static int units(Sourced<Expressible> cost) {
    try {
      int units = Integer.parseInt(cost.value().text().strip());
      if (units >= 1 && units <= Charge.MAX_COST) {
        return units;
      }
    } catch (NumberFormatException noNumber) {
      // Rejected below.
    }
    throw cost.origin()
        .mistake(
            "set it to 1 to %s, or to an expression over the arguments, such as \"#{count}\""
                .formatted(Charge.MAX_COST));
  }

  /** The bean that computes the actual cost of a call, or of each item. */
  private Optional<ActualCost> resultCost(MemberSet policy, List<NamedRule> rules) {
    Optional<Sourced<AnnotationClassValue<?>>> written = policy.find(PolicyMember.RESULT_COST);
    if (written.isEmpty()) {
      return Optional.empty();
    }
    NamedBeans.BeanRef<ResultCost> bean = parts.beans().ofType(written.get(), ResultCost.class);
    return Optional.of(
        new ActualCost(bean, steps(policy, rules, written.get()), parts.clampedCosts()));
  }

  /** How a stream takes its units; empty if the method has none. */
  private Optional<Steps> steps(
      MemberSet policy, List<NamedRule> rules, Sourced<AnnotationClassValue<?>> resultCost) {
    MethodChecks.requireSeenCompletion(method, resultCost, "write a cost alone");
    ResultKind kind = method == null ? ResultKind.UNKNOWN : method.result();
    Optional<Origin> stream = policy.originOf("stream");
    if (kind == ResultKind.RESPONSES) {
      throw resultCost
          .origin()
          .mistake(
              "the method returns a Publisher of responses, of which the server sends one: return a Mono of it, or annotate the method with @SingleResult");
    }
    if (method != null && kind != ResultKind.STREAM && kind != ResultKind.UNKNOWN) {
      if (stream.isPresent()) {
        throw stream
            .get()
            .mistake(
                "the method returns %s, which is no stream: return a Publisher, or remove it"
                    .formatted(method.resultType().description()));
      }
      return Optional.empty();
    }
    boolean certain = kind == ResultKind.STREAM;
    for (NamedRule named : rules) {
      if (named.kind().byOutcome() || named.kind() == CountedCalls.WAITING) {
        if (!certain && stream.isEmpty()) {
          return Optional.empty(); // a stream is reported when it is found
        }
        throw resultCost
            .origin()
            .mistake(
                "the method streams, and takes units while it runs, which the rule '%s' does not allow, since it %s: move the rule to a @RateLimiter with a name of its own"
                    .formatted(
                        named.rule().name(),
                        named.kind().byOutcome() ? "counts by outcome" : "makes calls wait"));
      }
    }
    Optional<Sourced<Long>> step = policy.find(PolicyMember.STREAM_STEP);
    if (step.isPresent()) {
      long units = step.get().value();
      if (units < 1 || units > Charge.MAX_COST) {
        throw step.get().origin().mistake("set it to 1 to " + Charge.MAX_COST);
      }
      requireAdmissible(rules, (int) units, step.get().origin(), "step");
    }
    return Optional.of(
        new Steps(
            step.map(Sourced::value).orElse(0L).intValue(),
            policy.get(PolicyMember.STREAM_END).orElse(StreamEnd.FINISH),
            certain));
  }

  private static RuntimeException mistakeInBan(MemberSet policy, BanRule ban, String remedy) {
    return policy
        .originOf("ban")
        .filter(Origin::isSetting)
        .map(setting -> (RuntimeException) setting.mistake(remedy))
        .orElseGet(() -> policy.mistake("ban", text(ban), remedy));
  }

  /** Whether the subjects of a rule may be banned. */
  private static boolean canBan(SubjectSource counted) {
    return counted.kind() != SubjectSource.Kind.EVERYBODY;
  }

  private static BanRule ban(MemberSet policy) {
    long violations = policy.get(PolicyMember.BAN_VIOLATIONS).orElse(DEFAULT_VIOLATIONS);
    if (violations < 1 || violations > BanRule.MAX_VIOLATIONS) {
      throw policy.mistake(
          PolicyMember.BAN_VIOLATIONS, violations, "set it to 1 to " + BanRule.MAX_VIOLATIONS);
    }
    Duration within = RuleReader.time(policy, PolicyMember.BAN_WITHIN, DEFAULT_BAN);
    Duration time = RuleReader.time(policy, PolicyMember.BAN_TIME, DEFAULT_BAN);
    long growth = policy.get(PolicyMember.BAN_GROWTH).orElse(DEFAULT_GROWTH);
    if (growth < 1 || growth > BanRule.MAX_GROWTH) {
      throw policy.mistake(PolicyMember.BAN_GROWTH, growth, "set it to 1 to " + BanRule.MAX_GROWTH);
    }
    if (growth == 1) {
      return new BanRule((int) violations, within, time, 1, time);
    }
    Duration longest = RuleReader.time(policy, PolicyMember.BAN_LONGEST, DEFAULT_LONGEST);
    if (longest.compareTo(time) < 0) {
      throw policy.mistake(
          PolicyMember.BAN_LONGEST,
          longest,
          "it is shorter than the first ban, %s: make it as long or longer".formatted(time));
    }
    return new BanRule((int) violations, within, time, (int) growth, longest);
  }

  private static Optional<Sourced<Duration>> lease(MemberSet policy) {
    Optional<Sourced<Duration>> lease = policy.find(PolicyMember.LEASE);
    if (lease.isEmpty() || lease.get().value().isZero()) {
      return Optional.empty();
    }
    Duration time = lease.get().value();
    if (time.compareTo(RuleStack.MIN_LEASE) < 0 || time.compareTo(Rule.MAX_LEASE) > 0) {
      throw PolicyMember.LEASE.mistake(lease.get().origin());
    }
    return lease;
  }

  private static Optional<Sourced<Double>> warnAt(MemberSet policy) {
    Optional<Sourced<Double>> share = policy.find(PolicyMember.WARN_AT);
    if (share.isEmpty() || share.get().value() == 0) {
      return Optional.empty();
    }
    if (!(share.get().value() > 0 && share.get().value() <= 1)) {
      throw PolicyMember.WARN_AT.mistake(share.get().origin());
    }
    return share;
  }

  /** The text of a ban for messages. */
  private static String text(BanRule ban) {
    return "%s within %s for %s%s"
        .formatted(
            ban.violations(),
            ban.within(),
            ban.time(),
            ban.growth() == 1 ? "" : " × %s up to %s".formatted(ban.growth(), ban.longest()));
  }

  /** The response to a call that a rule denied. */
  private DenialText text(MemberSet policy) {
    return text(
        policy, PolicyMember.STATUS, PolicyMember.CODE, message(policy, PolicyMember.MESSAGE));
  }

  private static DenialText text(
      MemberSet policy,
      PolicyMember<Long> status,
      PolicyMember<String> code,
      Optional<String> message) {
    Optional<Long> number = policy.get(status);
    if (number.filter(written -> written < 400 || written > 599).isPresent()) {
      throw policy.mistake(status, number.get(), "set it to an error status, 400 to 599");
    }
    if (policy.get(code).filter(String::isBlank).isPresent()) {
      policy.reject(code, "it is blank: write a code, or leave it out");
    }
    OptionalInt answered =
        number.isPresent() ? OptionalInt.of(number.get().intValue()) : OptionalInt.empty();
    DenialText text = new DenialText(answered, policy.get(code), message);
    return text.equals(DenialText.NONE) ? DenialText.NONE : text;
  }

  private Optional<String> message(MemberSet policy, PolicyMember<String> member) {
    Optional<String> message = policy.get(member);
    try {
      message.ifPresent(parts.requireUsable());
    } catch (IllegalArgumentException e) {
      throw policy.mistake(member, message.orElse(""), String.valueOf(e.getMessage()));
    }
    return message;
  }

  /** Each key is charged once and has one kind of ban, so all definitions must agree on them. */
  private ChargeDraft agree(ChargeKey key, CommonToRules values) {
    MemberSet policy = values.policy();
    ChargeDraft known = drafts.computeIfAbsent(key, any -> new ChargeDraft(values.condition()));
    if (!known.condition.equals(values.condition())) {
      throw policy.mistake(
          PolicyMember.CONDITION,
          values.condition().map(Object::toString).orElse(""),
          "another @RateLimiter of this method counts the same subject under the same key with condition = \"%s\": use the same condition for both, or different keys"
              .formatted(known.condition.map(Object::toString).orElse("")));
    }
    if (!key.trial) { // which Redis decides, and which warns of nothing
      known.lease = agreed("lease", known.lease, values.lease());
      known.warnAt = agreed("warnAt", known.warnAt, values.warnAt());
    }
    if (key.kind == CountedCalls.IN_FLIGHT) {
      return known;
    }
    if (known.price != null && !known.price.equals(values.price())) {
      throw policy.mistake(
          PolicyMember.COST,
          values.price(),
          "other rules of this method count the same subject with cost = %s: use one cost for all of them, or a separate key for some"
              .formatted(known.price));
    }
    known.price = values.price();
    if (values.ban().isPresent() && canBan(key.subjects)) {
      if (known.ban != null && !known.ban.equals(values.ban().get())) {
        throw mistakeInBan(
            policy,
            values.ban().get(),
            "another @RateLimiter of this method has ban = %s for the same subject: use the same ban for both, or a separate key for one of them"
                .formatted(text(known.ban)));
      }
      known.ban = values.ban().get();
    }
    return known;
  }

  /** The value of the definitions that have one, which must be the same. */
  private static <T> @Nullable Sourced<T> agreed(
      String member, @Nullable Sourced<T> known, Optional<Sourced<T>> other) {
    if (other.isPresent() && known != null && !known.value().equals(other.get().value())) {
      throw other
          .get()
          .origin()
          .mistake(
              "another @RateLimiter of this method has %s = %s for the same subject: use the same %s for both, or a separate key for one of them"
                  .formatted(member, known.origin().value(), member));
    }
    return other.orElse(known);
  }

  /** Adds the rules of one definition. A rule that is already present counts once. */
  private void put(
      List<NamedRule> added,
      List<Rule> to,
      Map<RuleReader.RuleSpec, Rule> distinct,
      DenialText text) {
    for (NamedRule each : added) {
      Rule rule = distinct.get(each.read());
      if (rule == null) {
        if (to.contains(each.rule())) {
          continue;
        }
        rule = distinct(each);
        distinct.put(each.read(), rule);
        codeNames.put(rule.name(), each.codeName());
        DenialText own = rule.count() == 0 ? text.or(DenialText.BLOCKED) : text;
        if (!own.equals(DenialText.NONE)) {
          texts.put(rule.name(), own);
        }
      }
      if (!to.contains(rule)) {
        to.add(rule);
      }
    }
  }

  /**
   * The rule with a name of its own, since names distinguish the rules in header fields and bodies.
   * One that is derived from the numbers gets a suffix, such as {@code 10-per-60s-2}.
   */
  private Rule distinct(NamedRule named) {
    Rule rule = named.rule();
    String distinct = rule.name();
    for (int i = 2; codeNames.containsKey(distinct); i++) {
      if (named.read().named()) {
        throw Origin.annotated(description, "@RateRule.name", distinct)
            .mistake("another rule of this method has this name: use another name");
      }
      distinct = rule.name() + '-' + i;
    }
    return rule.withName(distinct);
  }

  /** Whether the definition asks for a duplicate guard: in settings, any detail of one does. */
  static boolean wantsGuard(MemberSet policy) {
    Optional<Sourced<Boolean>> enabled = policy.find(PolicyMember.DUPLICATE);
    if (enabled.filter(it -> it.origin().isSetting()).isPresent()) {
      return enabled.get().value();
    }
    boolean detailed =
        policy.hasGroup("duplicate") // mostly not, and there may be thousands of policies
            && PolicyMember.ofPolicy().values().stream()
                .filter(member -> member.path().startsWith("duplicate."))
                .flatMap(member -> policy.find(member).stream())
                .anyMatch(detail -> detail.origin().isSetting());
    boolean wanted = detailed || policy.isTrue(PolicyMember.DUPLICATE);
    Refusals.GUARD.check(policy, wanted ? Set.of(Trait.GUARD) : Set.of());
    return wanted;
  }

  private DuplicateGuard guard(
      MemberSet policy, String limit, SubjectSource source, Optional<Condition> condition) {
    Optional<String> message = message(policy, PolicyMember.DUPLICATE_MESSAGE);
    return DuplicateGuardReader.read(
        policy,
        limit,
        source,
        method,
        condition,
        text(
            policy,
            PolicyMember.DUPLICATE_STATUS,
            PolicyMember.DUPLICATE_CODE,
            message.or(() -> policy.get(PolicyMember.MESSAGE))));
  }

  /** The names of the rules in the code and in lists, which settings and overrides may use. */
  Set<String> writtenNames() {
    return writtenNames;
  }

  /** The policy; it may be empty. */
  PolicyPlan plan() {
    List<PlannedCharge> charges = new ArrayList<>();
    drafts.forEach(
        (key, draft) -> {
          Price price = draft.price == null ? Price.ONE : draft.price;
          RuleStack known = stack(key, draft, draft.known);
          charges.add(
              new PlannedCharge(
                  key.limit,
                  draft.deniesAnonymous
                      ? key.subjects.withAnonymous(Anonymous.REJECT)
                      : key.subjects,
                  known,
                  draft.anonymous.equals(draft.known) ? known : stack(key, draft, draft.anonymous),
                  price.cost,
                  price.actual,
                  draft.condition,
                  observed || key.observed,
                  draft.anchor,
                  key.trial));
        });
    return new PolicyPlan(
        name,
        charges,
        observed ? guard.map(DuplicateGuard::observe) : guard,
        Map.copyOf(texts),
        Map.copyOf(codeNames),
        failure == null ? CompletionPlan.Failure.USUAL : failure,
        observed,
        beforeSecurity,
        early,
        Map.of(),
        new LogThrottle());
  }

  private RuleStack stack(ChargeKey key, ChargeDraft draft, List<Rule> rules) {
    RuleStack stack;
    try {
      stack = RuleStack.of(rules).withCounting(key.kind.counting());
      stack = draft.ban == null ? stack : stack.withBan(draft.ban);
      stack = draft.warnAt == null ? stack : stack.withWarnAt(draft.warnAt.value());
    } catch (IllegalArgumentException e) {
      throw Origin.annotated(description, "@RateRule", rules.stream().map(Rule::name).toList())
          .mistake(String.valueOf(e.getMessage()));
    }
    return draft.lease == null ? stack : leased(stack, draft.lease);
  }

  private static RuleStack leased(RuleStack stack, Sourced<Duration> lease) {
    for (Rule rule : stack.rules()) {
      if (rule.longestLease().compareTo(RuleStack.MIN_LEASE) < 0) {
        throw lease
            .origin()
            .mistake(
                "the rule '%s' allows no lease, since Redis has to decide each of its calls: remove the lease, or move the rule to a policy of its own"
                    .formatted(rule.name()));
      }
    }
    return lease.origin().accepted(() -> stack.withLease(lease.value()));
  }

  /** Numbers the expressions of each limit key; equal expressions have one number. */
  static final class Ordinals {

    private final Map<String, List<CallExpression>> expressions = new HashMap<>();

    int of(String limit, CallExpression expression) {
      List<CallExpression> ordered = expressions.computeIfAbsent(limit, any -> new ArrayList<>());
      if (!ordered.contains(expression)) {
        ordered.add(expression);
      }
      return ordered.indexOf(expression);
    }
  }
}
