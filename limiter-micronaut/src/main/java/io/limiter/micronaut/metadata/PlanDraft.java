// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PolicySettings;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.Condition;
import io.limiter.micronaut.plan.DenialPlan;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.AnnotationValue;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A plan under construction: the place nearest to the method is added first. */
final class PlanDraft {

  private static final String RATE_LIMITER = "@RateLimiter";
  private static final String RATE_RULE = "@RateRule";
  private static final String CONCURRENCY_LIMIT = "@ConcurrencyLimit";
  private static final String PREVENT_DUPLICATE = "@PreventDuplicate";
  private static final String NEVER_ANONYMOUS =
      "only limitType = USER_ID or HEADER and a resolver have anonymous callers: remove it";

  private final MemberReaders readers;
  private final Map<String, PolicySettings> settings;

  private final String description;
  private final @Nullable LimitedMethod method;
  private final ChargePlanner planner;
  private Optional<CompletionPlan.Failure> failure = Optional.empty();
  private Optional<AnnotationMembers> beforeSecurity = Optional.empty();
  private Optional<String> name = Optional.empty();
  private Optional<DuplicateGuard> guard = Optional.empty();
  private boolean guardIsWritten;
  private final Map<String, Set<String>> ruleNames = new TreeMap<>();

  /**
   * @param settings those of all policies, by name
   * @param description the method's class, name and parameter types
   * @param method the method; null for a policy that exists only in the configuration, whose name
   *     is the description
   */
  PlanDraft(
      MemberReaders readers,
      Map<String, PolicySettings> settings,
      String description,
      @Nullable LimitedMethod method) {
    this.readers = readers;
    this.settings = settings;
    this.description = description;
    this.method = method;
    this.planner = new ChargePlanner(description);
  }

  void add(AnnotatedPlace place) {
    List<AnnotationValue<?>> beside = new ArrayList<>(place.rules());
    beside.addAll(place.concurrency());
    if (place.limiters().size() > 1 && !beside.isEmpty()) {
      throw AnnotationMembers.mistake(
          description,
          place.rules().isEmpty() ? CONCURRENCY_LIMIT : RATE_RULE,
          String.valueOf(beside.get(0).getValues()),
          "there are several @RateLimiters in the same place: put it into the rules of the one it belongs to");
    }
    List<AnnotationMembers> limiters =
        place.limiters().isEmpty()
            ? List.of(members(RATE_LIMITER, AnnotationValue.builder(RateLimiter.class).build()))
            : place.limiters().stream().map(each -> members(RATE_LIMITER, each)).toList();
    Optional<AnnotationMembers> guards =
        place.guards().stream().findFirst().map(guard -> members(PREVENT_DUPLICATE, guard));
    if (guards.isPresent() && limiters.size() > 1) {
      throw AnnotationMembers.mistake(
          description,
          PREVENT_DUPLICATE,
          String.valueOf(guards.get().annotation().getValues()),
          "there are several @RateLimiters in the same place: set preventDuplicate in the one that counts the submitter");
    }
    boolean guarded = guardIsWritten;
    for (AnnotationMembers written : limiters) {
      Optional<String> own = name(written);
      name = name.or(() -> own);
      ConfiguredLimiter configured = configured(own);
      if (configured.settings().enabled()) {
        AnnotationMembers limiter = configured.change(written, guards.isPresent());
        Optional<AnnotationMembers> shorthand = configured.changeGuard(guards);
        add(limiter, shorthand, place, configured);
        guarded |= shorthand.isPresent() || limiter.has("preventDuplicate");
      }
    }
    guardIsWritten = guarded;
  }

  /** An annotation without a name is configured by that of the method, the nearest one only. */
  private ConfiguredLimiter configured(Optional<String> own) {
    String policy = own.orElse(description);
    boolean first = own.isPresent() || !ruleNames.containsKey(policy);
    ruleNames.computeIfAbsent(policy, any -> new TreeSet<>());
    return new ConfiguredLimiter(
        policy, first ? settings.getOrDefault(policy, PolicySettings.NONE) : PolicySettings.NONE);
  }

  private void add(
      AnnotationMembers limiter,
      Optional<AnnotationMembers> guards,
      AnnotatedPlace place,
      ConfiguredLimiter configured) {
    Optional<Condition> condition = readers.limiters().condition(limiter);
    String limit =
        limiter
            .text("key")
            .orElseGet(() -> condition.map(it -> description + " if " + it).orElse(description));
    Anonymous anonymous = readers.subjects().anonymous(limiter);
    SubjectSource source =
        readers.subjects().read(limiter, anonymous, each -> planner.ordinal(limit, each));
    List<AnnotationMembers> written =
        Stream.of(
                limiter.annotations("rules", RateRule.class).stream()
                    .map(rule -> members(RATE_LIMITER + ".rules", rule)),
                place.rules().stream().map(rule -> members(RATE_RULE, rule)),
                place.concurrency().stream().map(rule -> members(CONCURRENCY_LIMIT, rule)))
            .flatMap(Function.identity())
            .toList();
    Set<String> names = new HashSet<>();
    List<AnnotationMembers> all = configured.change(description, written, this::ruleName, names);
    if (!configured.settings().unlimited()) {
      addRules(limiter, limit, source, anonymous, all, configured, names, condition);
    }
    ruleNames.computeIfAbsent(configured.policy(), any -> new TreeSet<>()).addAll(names);
    addGuard(limiter, guards, limit, source, condition);
    if (beforeSecurity.isEmpty() && MethodChecks.isBeforeSecurity(limiter)) {
      beforeSecurity = Optional.of(limiter);
    }
    if (all.isEmpty()
        && guards.isEmpty()
        && !limiter.has("preventDuplicate")
        && configured.allowsGuard()) {
      throw limiter.correctableError(
          "rules",
          "{}",
          "nothing is limited: give it a rule, add a @RateRule in the same place, or set preventDuplicate");
    }
  }

  private void addRules(
      AnnotationMembers limiter,
      String limit,
      SubjectSource source,
      Anonymous anonymous,
      List<AnnotationMembers> all,
      ConfiguredLimiter configured,
      Set<String> names,
      Optional<Condition> condition) {
    Map<SubjectSource, List<RateRuleReader.Read>> bySource = new LinkedHashMap<>();
    bySource.put(source, new ArrayList<>());
    for (AnnotationMembers rule : all) {
      SubjectSource counted =
          readers.subjects().isWrittenIn(rule)
              ? readers.subjects().read(rule, anonymous, each -> planner.ordinal(limit, each))
              : source;
      RateRuleReader.Read read = readers.rules().read(rule);
      MethodChecks.requireSeenCompletion(method, rule, read.kind());
      bySource.computeIfAbsent(counted, any -> new ArrayList<>()).add(read);
    }
    if (bySource.keySet().stream().noneMatch(SubjectSource::mayBeAnonymous)) {
      limiter.reject("anonymous", NEVER_ANONYMOUS);
    }
    bySource.values().removeIf(List::isEmpty);
    List<RateRuleReader.Read> anonymousRules =
        anonymousRules(
            limiter, source, bySource.getOrDefault(source, List.of()), configured, names);
    readers.limiters().failure(limiter, bySource).ifPresent(written -> agree(limiter, written));
    ChargePlanner.AnnotationValues values =
        readers.limiters().read(limiter, bySource, anonymousRules, method, condition);
    bySource.forEach(
        (counted, known) ->
            planner.add(
                limit, counted, known, counted.equals(source) ? anonymousRules : known, values));
  }

  /** A call either fails or does not, so all annotations of one method must agree on that. */
  private void agree(AnnotationMembers limiter, CompletionPlan.Failure written) {
    failure
        .filter(other -> !other.equals(written))
        .ifPresent(
            other -> {
              throw limiter.error(
                  "failedOn",
                  text(written),
                  "another @RateLimiter of this method has failedOn = %s, and a call either fails or does not: give both the same"
                      .formatted(text(other)));
            });
    failure = Optional.of(written);
  }

  private static String text(CompletionPlan.Failure failure) {
    return failure.statuses().map(Set::toString).orElse("{}");
  }

  private List<RateRuleReader.Read> anonymousRules(
      AnnotationMembers limiter,
      SubjectSource source,
      List<RateRuleReader.Read> otherwise,
      ConfiguredLimiter configured,
      Set<String> names) {
    if (!limiter.has("anonymousRules")) {
      return otherwise;
    }
    if (!source.mayBeAnonymous()) {
      throw limiter.error("anonymousRules", "{…}", NEVER_ANONYMOUS);
    }
    List<AnnotationMembers> written =
        limiter.annotations("anonymousRules", RateRule.class).stream()
            .map(rule -> members(RATE_LIMITER + ".anonymousRules", rule))
            .toList();
    List<RateRuleReader.Read> read =
        configured.changeEach(written, this::ruleName, names).stream()
            .map(readers.rules()::readWithoutSubject)
            .toList();
    if (otherwise.isEmpty() || read.isEmpty() || deniesDuplicates(limiter)) {
      throw limiter.error(
          "anonymousRules",
          read.stream().map(each -> each.rule().name()).toList(),
          "they replace the rules for calls without a subject, which anonymous = REJECT would deny: set rules, anonymousRules and anonymous = ADDRESS");
    }
    return read;
  }

  private boolean deniesDuplicates(AnnotationMembers limiter) {
    return readers.subjects().anonymous(limiter) == Anonymous.REJECT;
  }

  /** The nearest place with a duplicate guard takes precedence. */
  private void addGuard(
      AnnotationMembers limiter,
      Optional<AnnotationMembers> shorthand,
      String limit,
      SubjectSource source,
      Optional<Condition> condition) {
    boolean guards = limiter.isTrue("preventDuplicate");
    if (!guards) {
      DuplicateGuardReader.rejectDetails(limiter);
    }
    if (shorthand.isPresent()) {
      limiter.reject(
          "preventDuplicate",
          "@PreventDuplicate in the same place already defines it: remove one of them");
    } else if (!guards) {
      return;
    }
    if (guardIsWritten) {
      return;
    }
    if (guard.isPresent()) {
      throw limiter.error(
          "preventDuplicate",
          true,
          "another @RateLimiter in the same place has it, too: one call is one submission, so remove one of them");
    }
    guard =
        Optional.of(readers.guards().read(limiter, shorthand, limit, source, method, condition));
  }

  private static Optional<String> name(AnnotationMembers limiter) {
    Optional<String> name = limiter.text("value");
    try {
      name.ifPresent(given -> RuleStack.requireName("policy", given));
    } catch (IllegalArgumentException e) {
      throw limiter.error("value", name.orElse(""), String.valueOf(e.getMessage()));
    }
    return name;
  }

  private AnnotationMembers members(String annotation, AnnotationValue<?> value) {
    return new AnnotationMembers(description, annotation, value);
  }

  private String ruleName(AnnotationMembers rule) {
    return readers.rules().read(rule).rule().name();
  }

  /**
   * The names of the policies that the annotations give, including those that are disabled, each
   * with the names of the rules that configuration may change.
   */
  Map<String, Set<String>> ruleNames() {
    return ruleNames;
  }

  /** The plan; empty if everything in it is disabled. */
  Optional<LimitPlan> plan() {
    List<PlannedCharge> built = planner.charges();
    if (built.isEmpty() && guard.isEmpty()) {
      return Optional.empty();
    }
    MethodChecks.requireRequest(method, built, guard);
    // Evaluated once all places have been read.
    Optional<DuplicateGuard> duplicates =
        beforeSecurity.isPresent() ? guard.map(DuplicateGuard::beforeSecurity) : guard;
    beforeSecurity.ifPresent(
        limiter ->
            MethodChecks.requireBeforeSecurity(
                limiter, method, built, duplicates, readers.gate().decides()));
    return Optional.of(
        new LimitPlan(
            description,
            name.orElse(description),
            built,
            duplicates,
            planner.texts(),
            failure.orElse(CompletionPlan.Failure.USUAL),
            denialPlan(name.orElse(description)),
            beforeSecurity.isPresent(),
            method != null));
  }

  private DenialPlan denialPlan(String policy) {
    return new DenialPlan(
        policy,
        settings.getOrDefault(policy, PolicySettings.NONE).observed(),
        method != null && method.takesVerdict());
  }

  /** The readers of the parts of an annotation, and the configuration of the gate. */
  @Singleton
  record MemberReaders(
      RateRuleReader rules,
      SubjectSourceReader subjects,
      RateLimiterReader limiters,
      DuplicateGuardReader guards,
      GateConfiguration gate) {}
}
