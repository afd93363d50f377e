// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.plan.DenialPlan;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.VerdictArguments;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A plan under construction: the place nearest to the method is added first. */
final class PlanDraft {

  private static final String RATE_LIMITER = "@RateLimiter";
  private static final String RATE_RULE = "@RateRule";
  private static final String CONCURRENCY_LIMIT = "@ConcurrencyLimit";
  private static final String PREVENT_DUPLICATE = "@PreventDuplicate";
  private static final String NEVER_ANONYMOUS =
      "only limitType = USER_ID or HEADER and a resolver have anonymous callers: remove it";

  private final Readers readers;

  private final String description;
  private final ExecutableMethod<?, ?> method;
  private final ChargePlanner quotas;
  private final FailedOnReader failedOn = new FailedOnReader();
  private final BeforeSecurity beforeSecurity = new BeforeSecurity();
  private Optional<String> name = Optional.empty();
  private Optional<DuplicateGuard> guard = Optional.empty();
  private boolean guardIsWritten;

  PlanDraft(Readers readers, String description, ExecutableMethod<?, ?> method) {
    this.readers = readers;
    this.description = description;
    this.method = method;
    this.quotas = new ChargePlanner(description);
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
          "there are several @RateLimiters in the same place: set preventDuplicate in the one whose subject submits");
    }
    limiters.forEach(limiter -> add(limiter, guards, place));
    guardIsWritten |=
        guards.isPresent()
            || limiters.stream().anyMatch(limiter -> limiter.has("preventDuplicate"));
  }

  private void add(
      AnnotationMembers limiter, Optional<AnnotationMembers> guards, AnnotatedPlace place) {
    name = name.or(() -> name(limiter));
    String limit = limiter.text("key").orElse(description);
    Anonymous anonymous = readers.subjects().anonymous(limiter);
    SubjectSource source =
        readers.subjects().read(limiter, anonymous, each -> quotas.ordinal(limit, each));
    List<AnnotationMembers> all =
        Stream.of(
                limiter.annotation().getAnnotations("rules", RateRule.class).stream()
                    .map(rule -> members(RATE_LIMITER + ".rules", rule)),
                place.rules().stream().map(rule -> members(RATE_RULE, rule)),
                place.concurrency().stream().map(rule -> members(CONCURRENCY_LIMIT, rule)))
            .flatMap(Function.identity())
            .toList();
    addRules(limiter, limit, source, anonymous, all);
    addGuard(limiter, guards, limit, source);
    beforeSecurity.add(limiter);
    if (all.isEmpty() && guards.isEmpty() && !limiter.has("preventDuplicate")) {
      throw limiter.error(
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
      List<AnnotationMembers> all) {
    Map<SubjectSource, List<RateRuleReader.Read>> bySource = new LinkedHashMap<>();
    bySource.put(source, new ArrayList<>());
    for (AnnotationMembers rule : all) {
      SubjectSource counted =
          readers.subjects().isWrittenIn(rule)
              ? readers.subjects().read(rule, anonymous, each -> quotas.ordinal(limit, each))
              : source;
      RateRuleReader.Read read = readers.rules().read(rule);
      UnseenCompletion.reject(method, rule, read.kind());
      bySource.computeIfAbsent(counted, any -> new ArrayList<>()).add(read);
    }
    if (bySource.keySet().stream().noneMatch(SubjectSource::mayBeAnonymous)) {
      limiter.reject("anonymous", NEVER_ANONYMOUS);
    }
    bySource.values().removeIf(List::isEmpty);
    List<RateRuleReader.Read> anonymousRules =
        anonymousRules(limiter, source, bySource.getOrDefault(source, List.of()));
    Set<PlannedCharge.CountedCalls> kinds = kinds(bySource.values());
    failedOn.add(limiter, kinds.stream().anyMatch(PlannedCharge.CountedCalls::byOutcome));
    boolean costly = kinds.stream().anyMatch(kind -> kind != PlannedCharge.CountedCalls.IN_FLIGHT);
    ChargePlanner.Terms terms =
        new ChargePlanner.Terms(
            limiter,
            readers.texts().limited(limiter),
            readers.costs().read(limiter, rules(bySource.values(), anonymousRules)),
            readers.actualCosts().read(limiter, costly, method.getReturnType()),
            readers.bans().read(limiter, bySource));
    bySource.forEach(
        (counted, known) ->
            quotas.add(
                limit, counted, known, counted.equals(source) ? anonymousRules : known, terms));
  }

  private static Set<PlannedCharge.CountedCalls> kinds(
      Collection<List<RateRuleReader.Read>> known) {
    return known.stream()
        .flatMap(List::stream)
        .map(RateRuleReader.Read::kind)
        .collect(Collectors.toSet());
  }

  private static List<Rule> rules(
      Collection<List<RateRuleReader.Read>> known, List<RateRuleReader.Read> anonymous) {
    return Stream.concat(known.stream().flatMap(List::stream), anonymous.stream())
        .map(RateRuleReader.Read::rule)
        .toList();
  }

  private List<RateRuleReader.Read> anonymousRules(
      AnnotationMembers limiter, SubjectSource source, List<RateRuleReader.Read> otherwise) {
    if (!limiter.has("anonymousRules")) {
      return otherwise;
    }
    if (!source.mayBeAnonymous()) {
      throw limiter.error("anonymousRules", "{…}", NEVER_ANONYMOUS);
    }
    List<RateRuleReader.Read> read =
        limiter.annotation().getAnnotations("anonymousRules", RateRule.class).stream()
            .map(rule -> members(RATE_LIMITER + ".anonymousRules", rule))
            .map(readers.rules()::readWithoutSubject)
            .toList();
    if (otherwise.isEmpty() || read.isEmpty() || deniesDuplicates(limiter)) {
      throw limiter.error(
          "anonymousRules",
          read.stream().map(each -> each.rule().name()).toList(),
          "they replace the rules for calls without a subject that are not denied: set both, and anonymous = ADDRESS");
    }
    return read;
  }

  private boolean deniesDuplicates(AnnotationMembers limiter) {
    return readers.subjects().anonymous(limiter) == Anonymous.REFUSE;
  }

  /** The nearest place with a duplicate guard takes precedence. */
  private void addGuard(
      AnnotationMembers limiter,
      Optional<AnnotationMembers> shorthand,
      String limit,
      SubjectSource source) {
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
    guard = Optional.of(readers.guards().read(limiter, shorthand, limit, source, method));
  }

  private static Optional<String> name(AnnotationMembers limiter) {
    Optional<String> name = limiter.text("value");
    try {
      name.ifPresent(given -> Rule.requireName("policy", given));
    } catch (IllegalArgumentException e) {
      throw limiter.error("value", name.orElse(""), String.valueOf(e.getMessage()));
    }
    return name;
  }

  private AnnotationMembers members(String annotation, AnnotationValue<?> value) {
    return new AnnotationMembers(description, annotation, value);
  }

  LimitPlan plan() {
    List<PlannedCharge> built = quotas.quotas();
    // Evaluated once all places have been read.
    Optional<DuplicateGuard> duplicates =
        beforeSecurity.isRequested() ? guard.map(DuplicateGuard::beforeSecurity) : guard;
    return new LimitPlan(
        description,
        name.orElse(description),
        built,
        duplicates,
        quotas.texts(),
        failedOn.failure(),
        denialPlan(name.orElse(description)),
        beforeSecurity.holds(method, built, duplicates, readers.gate().decides()));
  }

  private DenialPlan denialPlan(String policy) {
    return new DenialPlan(
        policy,
        readers.policies().observed().contains(policy),
        VerdictArguments.any(method.getArguments()));
  }

  /** The readers of the parts of an annotation, and the configuration of policies and the gate. */
  @Singleton
  record Readers(
      RateRuleReader rules,
      SubjectSourceReader subjects,
      DenialTextReader texts,
      CostReader costs,
      CostReader.ActualCostReader actualCosts,
      BanReader bans,
      DuplicateGuardReader guards,
      PoliciesConfiguration policies,
      GateConfiguration gate) {}

  /**
   * Rejects settings that depend on a call's completion if the method's result does not show it.
   */
  static final class UnseenCompletion {

    // By name, since the classes may be absent.
    private static final Set<String> OF_KOTLIN =
        Set.of("kotlinx.coroutines.Deferred", "kotlinx.coroutines.Job");

    private UnseenCompletion() {}

    static void reject(
        ExecutableMethod<?, ?> method, AnnotationMembers rule, PlannedCharge.CountedCalls kind) {
      if (!isUnseen(method)
          || kind == PlannedCharge.CountedCalls.ALL
          || kind == PlannedCharge.CountedCalls.WAITING) {
        return;
      }
      throw kind == PlannedCharge.CountedCalls.IN_FLIGHT
          ? AnnotationMembers.mistake(
              rule.method(),
              rule.has("algorithm") ? rule.name() + ".algorithm" : rule.name(),
              "CONCURRENCY_LIMIT",
              remedy(method) + ", or limit how often it is called, with another algorithm")
          : rule.error("counts", kind, remedy(method) + ", or count all of its calls");
    }

    /**
     * @param details the details of the guard
     * @param shorthand the {@code @PreventDuplicate} that they are, if it is one
     */
    static void reject(
        ExecutableMethod<?, ?> method,
        AnnotationMembers limiter,
        AnnotationMembers details,
        boolean shorthand,
        DuplicateGuard.Release release) {
      if (!isUnseen(method) || release instanceof DuplicateGuard.Release.Never) {
        return;
      }
      String remedy =
          remedy(method) + ", or write duplicate = @Duplicate(releaseOnFailure = false)";
      details.reject("releaseOn", remedy + " in its place");
      throw shorthand
          ? AnnotationMembers.mistake(
              limiter.method(), limiter.name(), "within", remedy + " in a @RateLimiter")
          : limiter.error("preventDuplicate", true, remedy);
    }

    private static boolean isUnseen(ExecutableMethod<?, ?> method) {
      Class<?> result = method.getReturnType().getType();
      return (Future.class.isAssignableFrom(result)
              && !CompletionStage.class.isAssignableFrom(result))
          || OF_KOTLIN.contains(result.getName());
    }

    private static String remedy(ExecutableMethod<?, ?> method) {
      return "the method returns "
          + method.getReturnType().getType().getName()
          + ", which does not show when its calls end: return a CompletionStage or a Publisher";
    }
  }
}
