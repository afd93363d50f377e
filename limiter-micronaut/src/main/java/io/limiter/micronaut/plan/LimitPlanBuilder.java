// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Rule;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Makes the plan of one method of what its annotations say, and refuses what makes no sense. */
@Singleton
final class LimitPlanBuilder {

  private static final String RATE_LIMITER = "@RateLimiter";
  private static final String RATE_RULE = "@RateRule";
  private static final String NOBODY_ANONYMOUS =
      "only limitType = USER_ID or HEADER and a resolver have anonymous callers: remove it";

  private final LimitPlaces places;
  private final RateRuleReader rules;
  private final SubjectSourceReader subjects;
  private final DenialTextReader texts;
  private final DuplicateGuardReader guards;

  LimitPlanBuilder(
      LimitPlaces places,
      RateRuleReader rules,
      SubjectSourceReader subjects,
      DenialTextReader texts,
      DuplicateGuardReader guards) {
    this.places = places;
    this.rules = rules;
    this.subjects = subjects;
    this.texts = texts;
    this.guards = guards;
  }

  /** The plan of a method; empty if nothing limits it. */
  Optional<LimitPlan> build(ExecutableMethod<?, ?> method) {
    String description = describe(method);
    List<Place> limited = places.of(method, description);
    if (limited.isEmpty()) {
      return Optional.empty();
    }
    Draft draft = new Draft(description, method);
    limited.forEach(draft::add);
    return Optional.of(
        new LimitPlan(
            description,
            draft.name.orElse(description),
            draft.namedBy,
            draft.quotas.quotas(),
            draft.guard,
            draft.quotas.texts()));
  }

  /** A plan in the making. What is added first is nearest to the method. */
  private final class Draft {

    private final String description;
    private final ExecutableMethod<?, ?> method;
    private final QuotaBuilder quotas;
    private Optional<String> name = Optional.empty();
    private String namedBy;
    private Optional<DuplicateGuard> guard = Optional.empty();
    private boolean guardSaid;

    Draft(String description, ExecutableMethod<?, ?> method) {
      this.description = description;
      this.method = method;
      this.namedBy = description;
      this.quotas = new QuotaBuilder(description);
    }

    void add(Place place) {
      if (place.limiters().size() > 1 && !place.rules().isEmpty()) {
        throw PlanErrors.of(
            description,
            RATE_RULE,
            String.valueOf(place.rules().get(0).getValues()),
            "it stands beside several @RateLimiters: put it into the rules of the one it belongs to");
      }
      List<Members> limiters =
          place.limiters().isEmpty()
              ? List.of(members(RATE_LIMITER, AnnotationValue.builder(RateLimiter.class).build()))
              : place.limiters().stream().map(each -> members(RATE_LIMITER, each)).toList();
      limiters.forEach(limiter -> add(limiter, place));
      guardSaid |= limiters.stream().anyMatch(limiter -> limiter.has("preventDuplicate"));
    }

    private void add(Members limiter, Place place) {
      if (name.isEmpty()) {
        name = name(limiter);
        namedBy =
            name.isPresent() && place.shared() ? Place.asWritten(limiter.annotation()) : namedBy;
      }
      String limit = limiter.text("key").orElse(description);
      Anonymous anonymous = subjects.anonymous(limiter);
      SubjectSource source = subjects.read(limiter, anonymous, each -> quotas.ordinal(limit, each));
      List<Members> all =
          Stream.concat(
                  limiter.annotation().getAnnotations("rules", RateRule.class).stream()
                      .map(rule -> members(RATE_LIMITER + ".rules", rule)),
                  place.rules().stream().map(rule -> members(RATE_RULE, rule)))
              .toList();
      addRules(limiter, limit, source, anonymous, all);
      addGuard(limiter, limit, source);
      if (all.isEmpty() && !limiter.has("preventDuplicate")) {
        throw limiter.error(
            "rules",
            "{}",
            "nothing is limited: give it a rule, put @RateRule beside it, or set preventDuplicate");
      }
    }

    private void addRules(
        Members limiter,
        String limit,
        SubjectSource source,
        Anonymous anonymous,
        List<Members> all) {
      DenialText text = texts.refused(limiter);
      Map<SubjectSource, List<RateRuleReader.Read>> bySource = new LinkedHashMap<>();
      bySource.put(source, new ArrayList<>());
      for (Members rule : all) {
        SubjectSource counted =
            subjects.isSaidIn(rule)
                ? subjects.read(rule, anonymous, each -> quotas.ordinal(limit, each))
                : source;
        bySource.computeIfAbsent(counted, any -> new ArrayList<>()).add(rules.read(rule));
      }
      if (bySource.keySet().stream().noneMatch(SubjectSource::mayBeAnonymous)) {
        limiter.refuse("anonymous", NOBODY_ANONYMOUS);
      }
      bySource.forEach(
          (counted, told) ->
              quotas.add(
                  limit,
                  counted,
                  told,
                  counted.equals(source) ? anonymousRules(limiter, source, told) : told,
                  text));
    }

    private List<RateRuleReader.Read> anonymousRules(
        Members limiter, SubjectSource source, List<RateRuleReader.Read> otherwise) {
      if (!limiter.has("anonymousRules")) {
        return otherwise;
      }
      if (!source.mayBeAnonymous()) {
        throw limiter.error("anonymousRules", "{…}", NOBODY_ANONYMOUS);
      }
      List<RateRuleReader.Read> read =
          limiter.annotation().getAnnotations("anonymousRules", RateRule.class).stream()
              .map(rule -> members(RATE_LIMITER + ".anonymousRules", rule))
              .map(rules::readWithoutSubject)
              .toList();
      if (otherwise.isEmpty() || read.isEmpty() || refuses(limiter)) {
        throw limiter.error(
            "anonymousRules",
            read.stream().map(each -> each.rule().name()).toList(),
            "they stand in place of the rules, for callers who are not refused: give both, and anonymous = ADDRESS");
      }
      return read;
    }

    private boolean refuses(Members limiter) {
      return subjects.anonymous(limiter) == Anonymous.REFUSE;
    }

    /** The nearest place that speaks of duplicates rules. */
    private void addGuard(Members limiter, String limit, SubjectSource source) {
      if (!limiter.isTrue("preventDuplicate")) {
        DuplicateGuardReader.refuseDetails(limiter);
        return;
      }
      if (guardSaid) {
        return;
      }
      if (guard.isPresent()) {
        throw limiter.error(
            "preventDuplicate",
            true,
            "another @RateLimiter beside it says the same: one call is one submission, so let one of them say it");
      }
      guard = Optional.of(guards.read(limiter, limit, source, method.getArguments()));
    }

    private static Optional<String> name(Members limiter) {
      Optional<String> name = limiter.text("name");
      try {
        name.ifPresent(given -> Rule.requireName("policy", given));
      } catch (IllegalArgumentException e) {
        throw limiter.error("name", name.orElse(""), String.valueOf(e.getMessage()));
      }
      return name;
    }

    private Members members(String annotation, AnnotationValue<?> value) {
      return new Members(description, annotation, value);
    }
  }

  private static String describe(ExecutableMethod<?, ?> method) {
    return Arrays.stream(method.getArgumentTypes())
        .map(Class::getTypeName)
        .collect(
            Collectors.joining(
                ",",
                method.getDeclaringType().getName() + "." + method.getMethodName() + "(",
                ")"));
  }
}
