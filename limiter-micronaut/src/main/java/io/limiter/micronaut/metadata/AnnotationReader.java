// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Custom;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.StreamBudget;
import io.limiter.micronaut.annotation.TokenBucket;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyDefinition.RuleList;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Expressible;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.limiter.micronaut.plan.RuleReader;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.expressions.EvaluatedExpression;
import io.micronaut.core.naming.NameUtils;
import java.lang.annotation.Annotation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads annotations to definitions: the members that are written, not their defaults. */
@Internal
public final class AnnotationReader {

  /** What is wrong with a limit on a static method. */
  public static final String ON_STATIC =
      "a static method, or one of a companion object, is never limited: make it a method of the bean";

  private static final String RATE_LIMITER = "@RateLimiter";
  private static final String RATE_RULE = "@RateRule";
  private static final String CONCURRENCY_LIMIT = "@ConcurrencyLimit";
  private static final String SEVERAL = "there are several @RateLimiters in the same place: ";
  private static final String TIME_UNIT = "timeUnit";

  private static final String ONLY_LOG =
      "a duplicate guard stores each submission, which only the exact log does: remove it";

  private final LimitedMethod limited;
  private final String method; // as mistakes name it

  private AnnotationReader(LimitedMethod limited) {
    this.limited = limited;
    this.method = limited.description();
  }

  /**
   * The policies that limit a method: those of each place that has some, nearest first.
   *
   * @param readable makes an annotation as the start finds it of one that is being compiled
   * @throws ConfigurationException if an annotation is invalid, or its place
   */
  public static List<List<PolicyDefinition>> read(
      LimitedMethod method, UnaryOperator<AnnotationValue<?>> readable) {
    AnnotationReader reader = new AnnotationReader(method);
    return AnnotatedPlace.limiting(method).stream()
        .map(place -> reader.read(place.with(readable)))
        .toList();
  }

  /** The policies of one place, in their order. */
  private List<PolicyDefinition> read(AnnotatedPlace place) {
    List<AnnotationValue<RateRule>> rules = place.of(RateRule.class);
    List<AnnotationValue<ConcurrencyLimit>> concurrency = place.of(ConcurrencyLimit.class);
    List<AnnotationValue<PreventDuplicate>> guards = place.of(PreventDuplicate.class);
    List<MemberSet> beside = new ArrayList<>();
    rules.forEach(rule -> beside.add(rule(rule, RATE_RULE)));
    concurrency.forEach(limit -> beside.add(concurrency(limit)));
    List<AnnotationValue<RateLimiter>> limiters = place.of(RateLimiter.class);
    if (limiters.isEmpty()) {
      limiters = List.of(AnnotationValue.builder(RateLimiter.class).build());
    } else if (limiters.size() > 1) {
      requireNone(rules, SEVERAL + "put it into the rules of the one it belongs to");
      requireNone(concurrency, SEVERAL + "put it into the rules of the one it belongs to");
      requireNone(guards, SEVERAL + "set preventDuplicate in the one that counts the submitter");
    }
    if (guards.size() > 1) {
      requireNone(
          guards.subList(1, 2),
          "%s in the same place already defines it: remove one of them"
              .formatted(name(guards.get(0))));
    }
    return limiters.stream()
        .map(limiter -> read(limiter, beside, guards.stream().findFirst()))
        .toList();
  }

  private void requireNone(List<? extends AnnotationValue<?>> written, String several) {
    if (!written.isEmpty()) {
      throw Origin.annotated(method, name(written.get(0)), written.get(0).getValues())
          .mistake(several);
    }
  }

  private static String name(AnnotationValue<?> annotation) {
    return "@" + NameUtils.getSimpleName(annotation.getAnnotationName());
  }

  private PolicyDefinition read(
      AnnotationValue<RateLimiter> limiter,
      List<MemberSet> beside,
      Optional<AnnotationValue<PreventDuplicate>> guard) {
    Place place = new Place(RATE_LIMITER, limiter);
    MemberSet members = place.read("", MemberSet.of(method + ": " + RATE_LIMITER));
    members = place.group(PolicyMember.BAN, Ban.class, members);
    members = place.group(PolicyMember.STREAM, StreamBudget.class, members);
    members = place.read(PolicyMember.DUPLICATE, "preventDuplicate", members);
    members = place.group(PolicyMember.DETAILS, Duplicate.class, members);
    Optional<Place> within = place.nested("preventDuplicateRule", RateRule.class);
    if (within.isPresent()) {
      members = within.get().duplicateRule(members);
    }
    if (guard.isPresent()) {
      members.reject(
          PolicyMember.DUPLICATE,
          "%s in the same place already defines it: remove one of them"
              .formatted(name(guard.get())));
      members = new Place(name(guard.get()), guard.get()).shorthand(members);
    }
    Map<RuleList, List<MemberSet>> lists = new EnumMap<>(RuleList.class);
    for (RuleList list : RuleList.values()) {
      if (limiter.contains(list.annotated())) {
        lists.put(list, rules(limiter, list.annotated()));
      }
    }
    lists.computeIfAbsent(RuleList.RULES, none -> new ArrayList<>()).addAll(beside);
    return new PolicyDefinition(name(place), members, lists, Map.of(), false);
  }

  private List<MemberSet> rules(AnnotationValue<RateLimiter> limiter, String list) {
    List<MemberSet> rules = new ArrayList<>();
    for (AnnotationValue<RateRule> rule : limiter.getAnnotations(list, RateRule.class)) {
      rules.add(rule(rule, RATE_LIMITER + '.' + list));
    }
    return rules;
  }

  private String name(Place limiter) {
    Optional<String> name = limiter.text("value");
    try {
      name.ifPresent(given -> RuleStack.requireName("policy", given));
    } catch (IllegalArgumentException e) {
      throw limiter.origin("value", name.orElse("")).mistake(String.valueOf(e.getMessage()));
    }
    return name.orElse(method);
  }

  private MemberSet rule(AnnotationValue<RateRule> rule, String name) {
    Place place = new Place(name, rule);
    MemberSet members = place.read("", MemberSet.of(method + ": " + name));
    Optional<Place> custom = place.nested("custom", Custom.class);
    if (custom.isPresent()) {
      members = custom.get().read("custom", members);
    }
    members = place.group(PolicyMember.FIXED_WINDOW, FixedWindow.class, members);
    members = place.group(PolicyMember.TOKEN_BUCKET, TokenBucket.class, members);
    return place.group(PolicyMember.LEAKY_BUCKET, LeakyBucket.class, members);
  }

  private MemberSet concurrency(AnnotationValue<ConcurrencyLimit> limit) {
    Place place = new Place(CONCURRENCY_LIMIT, limit);
    MemberSet members = MemberSet.of(method + ": " + CONCURRENCY_LIMIT);
    members =
        members.with(
            PolicyMember.ALGORITHM,
            new Sourced<>(
                Algorithm.CONCURRENCY_LIMIT,
                Origin.annotated(method, CONCURRENCY_LIMIT, Algorithm.CONCURRENCY_LIMIT)));
    return place.read("", place.read(PolicyMember.COUNT, "value", members));
  }

  /** One annotation of the method. */
  private final class Place {

    private final String name; // as in @RateLimiter.ban
    private final AnnotationValue<?> annotation;
    private final TimeUnit unit; // of its times

    Place(String name, AnnotationValue<?> annotation) {
      this(name, annotation, TimeUnit.SECONDS);
    }

    private Place(String name, AnnotationValue<?> annotation, TimeUnit usual) {
      this.name = name;
      this.annotation = annotation;
      this.unit = annotation.enumValue(TIME_UNIT, TimeUnit.class).orElse(usual);
    }

    Origin origin(String member, Object value) {
      return Origin.annotated(method, name + '.' + member, value);
    }

    /** The annotation in a member that may have one at most. */
    <A extends Annotation> Optional<Place> nested(String member, Class<A> type) {
      List<AnnotationValue<A>> written = annotation.getAnnotations(member, type);
      if (written.size() > 1) {
        throw origin(
                member,
                written.stream()
                    .map(one -> "@" + type.getSimpleName())
                    .collect(Collectors.joining(", ")))
            .mistake("only one is possible: remove the others");
      }
      return written.stream().findFirst().map(one -> new Place(name + '.' + member, one, unit));
    }

    /** Puts a member that says that this annotation is written. */
    MemberSet mark(PolicyMember<Boolean> member, MemberSet to) {
      String type = NameUtils.getSimpleName(annotation.getAnnotationName());
      return to.with(member, new Sourced<>(true, Origin.annotated(method, name, '@' + type)));
    }

    /** Reads the annotation of a group of members, if it is written. */
    MemberSet group(PolicyMember<Boolean> mark, Class<? extends Annotation> type, MemberSet to) {
      return nested(mark.annotated(), type)
          .map(group -> group.read(mark.path(), group.mark(mark, to)))
          .orElse(to);
    }

    /** A rule of a duplicate guard, which has only numbers and a name. */
    MemberSet duplicateRule(MemberSet to) {
      for (String member : List.of("limitType", "header", "subject")) {
        reject(member, "this rule counts the subject of its policy: remove it");
      }
      for (String member : List.of("custom", "fixedWindow", "tokenBucket", "leakyBucket")) {
        reject(member, ONLY_LOG);
      }
      if (annotation.enumValue("counts", Counts.class).isPresent()) {
        reject(
            "counts",
            "a duplicate guard counts accepted submissions: remove it, and use releaseOn for the failures after which they may be repeated");
      }
      if (annotation.enumValue("algorithm", Algorithm.class).orElse(Algorithm.SLIDING_WINDOW_LOG)
          != Algorithm.SLIDING_WINDOW_LOG) {
        reject("algorithm", ONLY_LOG);
      }
      MemberSet read =
          read(PolicyMember.DUPLICATE_COUNT, "count", mark(PolicyMember.DUPLICATE_RULE, to));
      read = read(PolicyMember.DUPLICATE_TIME, "time", read);
      if (raw("time") == null) { // the default of @RateRule, not that of the guard
        read =
            read.with(
                PolicyMember.DUPLICATE_TIME,
                new Sourced<>(RuleReader.DEFAULT_TIME, origin("time", RuleReader.DEFAULT_TIME)));
      }
      return read(PolicyMember.DUPLICATE_NAME, "name", read);
    }

    /** The members of a {@code @PreventDuplicate}. */
    MemberSet shorthand(MemberSet to) {
      MemberSet guarded =
          to.with(
              PolicyMember.DUPLICATE,
              new Sourced<>(true, Origin.annotated(method, name, "within")));
      guarded = read(PolicyMember.DUPLICATE_TIME, "within", guarded);
      guarded = read(PolicyMember.DUPLICATE_BY, "by", guarded);
      return read(PolicyMember.DUPLICATE_KEY, "key", guarded);
    }

    private void reject(String member, String remedy) {
      Object raw = raw(member);
      if (raw != null && !(raw instanceof Object[] none && none.length == 0)) {
        throw origin(member, written(raw)).mistake(remedy);
      }
    }

    /** Reads all members of a group that are written. */
    MemberSet read(String group, MemberSet to) {
      MemberSet all = to;
      for (PolicyMember<?> member : PolicyMember.ofGroup(group)) {
        String path = member.annotated();
        all = read(member, path.substring(path.lastIndexOf('.') + 1), all);
      }
      return all;
    }

    /**
     * Reads one member, if it is written.
     *
     * @param own its name in this annotation
     */
    <T> MemberSet read(PolicyMember<T> member, String own, MemberSet to) {
      Object raw = raw(own);
      if (raw instanceof AnnotationValue<?> || raw instanceof AnnotationValue<?>[]) {
        return to; // a group of its own
      }
      Object value = raw == null ? null : value(member, own, raw);
      return value == null
          ? to
          : to.with(
              member, new Sourced<>(member.cast(value), origin(own, shown(member, own, raw))));
    }

    private Object shown(PolicyMember<?> member, String own, @Nullable Object raw) {
      return member.type() == Duration.class && !member.isText()
          ? annotation.longValue(own).orElse(0) + " " + unit
          : raw == null ? "" : written(raw);
    }

    private @Nullable Object value(PolicyMember<?> member, String own, Object raw) {
      Class<?> type = member.type();
      if (type == Expressible.class && raw instanceof EvaluatedExpression) {
        return new Expressible(
            raw.toString(),
            Optional.of(
                new CallExpression(
                    method + ": " + name,
                    raw.toString(),
                    annotation,
                    own,
                    limited.head(raw.toString()))));
      }
      if (type == Expressible.class) {
        return text(own).map(text -> new Expressible(text, Optional.empty())).orElse(null);
      }
      if (type == String.class) {
        // A header whose placeholder is empty is a mistake; other empty texts are as if not
        // written.
        return text(own).orElse(own.equals("header") && !raw.equals("") ? "" : null);
      }
      if (member.isText()) {
        return text(own)
            .map(text -> member.read(text, origin(own, text), ConversionService.SHARED).value())
            .orElse(null);
      }
      if (type == Duration.class) {
        return duration(annotation.longValue(own).orElse(0), unit);
      }
      if (raw instanceof int[]) {
        return Arrays.stream(annotation.intValues(own)).boxed().toList();
      }
      if (raw instanceof double[]) {
        return Arrays.stream(annotation.doubleValues(own)).boxed().toList();
      }
      if (raw instanceof String[] words) { // a word that has no default
        if (words.length > 1) {
          throw origin(own, written(raw)).mistake("only one is possible: remove the others");
        }
        return words.length == 0
            ? null
            : member.read(words[0], origin(own, words[0]), ConversionService.SHARED).value();
      }
      return annotation.get(own, member.type()).orElse(null);
    }

    /** The raw value of a member: any other way of reading would evaluate an expression. */
    private @Nullable Object raw(String member) {
      for (Map.Entry<CharSequence, Object> entry : annotation.getValues().entrySet()) {
        if (member.contentEquals(entry.getKey())) {
          return entry.getValue();
        }
      }
      return null;
    }

    /** The text of a member, if it is not empty. */
    Optional<String> text(String member) {
      Object raw = raw(member);
      if (raw instanceof EvaluatedExpression) {
        throw origin(member, "#{…}")
            .mistake(
                "it is read once, when the service starts, and only subject, cost, condition, countIf, the anchor of a calendar and the key of a duplicate may be expressions: write a text");
      }
      try {
        return annotation.stringValue(member).filter(text -> !text.isEmpty());
      } catch (ConfigurationException unresolved) {
        throw origin(member, String.valueOf(raw))
            .mistake(
                "%s: set it, or add a default, as in ${name:default}"
                    .formatted(unresolved.getMessage()));
      }
    }
  }

  private static Object written(Object raw) {
    if (raw instanceof int[] numbers) {
      return numbers.length == 0 ? "{}" : Arrays.toString(numbers);
    }
    if (raw instanceof double[] reals) {
      return Arrays.toString(reals);
    }
    return raw instanceof Object[] annotations
        ? Arrays.stream(annotations)
            .map(
                one ->
                    one instanceof AnnotationValue<?> value
                        ? "@" + NameUtils.getSimpleName(value.getAnnotationName())
                        : one.toString())
            .collect(Collectors.joining(", "))
        : raw;
  }

  /** A time that no rule can have where a long cannot hold it. */
  private static Duration duration(long number, TimeUnit unit) {
    try {
      return Duration.of(number, unit.toChronoUnit());
    } catch (ArithmeticException overflow) {
      return Duration.ofSeconds(Long.MAX_VALUE);
    }
  }
}
