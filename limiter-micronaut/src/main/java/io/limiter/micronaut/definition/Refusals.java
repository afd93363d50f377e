// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * What the members of a definition need, and what they exclude, each with the remedy. The compiler
 * and the start read definitions by these tables; the first row that applies is reported. The range
 * of a value is checked where it is read, and {@code MethodChecks} has what depends on the method.
 */
@Internal
public final class Refusals {

  /** Of a policy, whose rules have been read. */
  public static final Refusals POLICY =
      new Refusals(
          row(PolicyMember.ANONYMOUS, without(Trait.ANONYMOUS_CALLERS), Refusals.NEVER_ANONYMOUS),
          row(
              PolicyMember.COUNT_IF,
              without(Trait.OUTCOMES),
              "it has no effect on concurrency limits and without rules: add other rules, or remove it"),
          row(
              PolicyMember.FAILED_ON,
              without(Trait.OUTCOMES),
              "it has no effect without a rule with counts = FAILURES or SUCCESSES: add one, or remove it"),
          row(
              PolicyMember.FAILED_ON,
              beside("count-if"),
              "%s selects the calls that count: remove one of them"),
          row(
              PolicyMember.COST,
              without(Trait.RULES),
              "there is no rule to take it from: add rules, or remove it"),
          row(
              PolicyMember.COST,
              without(Trait.UNITS),
              "a concurrency limit takes one permit for each call, whatever its cost: add other rules, or remove it"),
          row(
              "stream",
              without("result-cost"),
              "it has no effect without a resultCost: add one, or remove it"),
          row(
              PolicyMember.RESULT_COST,
              without(Trait.UNITS),
              "no rule takes a cost: a concurrency limit takes one permit for each call: add other rules, or remove it"),
          row(
              PolicyMember.RESULT_COST,
              without("cost"),
              "a call takes its units before its result is known: write cost = \"…\", an estimate"),
          row(
              "ban",
              without(Trait.RULES),
              "it has no rules that could deny calls: add rules, or remove it"),
          row(
              "ban",
              without(Trait.UNITS),
              "its rules limit calls in flight, and the time until a permit is free is unknown: add other rules, or remove it"),
          row(
              "ban",
              without(Trait.SUBJECTS),
              "its rules count all calls together, and banning all of them would be an outage: add a rule that distinguishes subjects, or remove it"),
          row(
              PolicyMember.BAN_LONGEST,
              where(it -> it.members().get(PolicyMember.BAN_GROWTH).orElse(1L) == 1),
              "it has no effect without a growth: set growth, or remove it"),
          row(
              PolicyMember.LEASE,
              without(Trait.RULES),
              "there is no rule to take units from: add rules, or remove it"),
          row(
              PolicyMember.WARN_AT,
              without(Trait.RULES),
              "there is no rule that could come near its limit: add rules, or remove it"));

  /** Of the duplicate guard of a policy. */
  public static final Refusals GUARD =
      new Refusals(
          row(PolicyMember.DUPLICATE_RULE, without(Trait.GUARD), Row.NO_GUARD),
          row(PolicyMember.DETAILS, without(Trait.GUARD), Row.NO_GUARD),
          row(
              PolicyMember.DUPLICATE_BY,
              beside("duplicate.key"),
              "key already defines what makes submissions equal: remove one of them"),
          row(
              PolicyMember.RELEASE_ON_FAILURE,
              where(
                  it ->
                      it.members().isFalse(PolicyMember.RELEASE_ON_FAILURE)
                          && it.members().has(PolicyMember.RELEASE_ON)),
              "releaseOn already defines when to release: remove one of them"));

  /** Of who is counted, by a policy or by a rule. */
  public static final Refusals WHO =
      new Refusals(
          row(PolicyMember.RESOLVER, beside("subject"), Row.WHO_IS_COUNTED),
          row(PolicyMember.HEADER, beside("subject", "resolver"), Row.WHO_IS_COUNTED),
          row(PolicyMember.LIMIT_TYPE, beside("resolver"), Row.WHO_IS_COUNTED),
          row(
              PolicyMember.LIMIT_TYPE,
              where(
                  it ->
                      it.members().has(PolicyMember.HEADER)
                          && !it.has(PolicyMember.LIMIT_TYPE, LimitType.IP)
                          && !it.has(PolicyMember.LIMIT_TYPE, LimitType.HEADER)),
              "the header already defines who is counted: remove one of them, or write IP if its value is an address"));

  /** Of a rule. */
  public static final Refusals RULE =
      new Refusals(
          row("fixed-window", beside("custom"), Row.HOW_IT_COUNTS),
          row("token-bucket", beside("custom", "fixed-window"), Row.HOW_IT_COUNTS),
          row("leaky-bucket", beside("custom", "fixed-window", "token-bucket"), Row.HOW_IT_COUNTS),
          row(
              "algorithm",
              beside("custom", "fixed-window", "token-bucket", "leaky-bucket"),
              Row.HOW_IT_COUNTS),
          row(
              PolicyMember.COUNTS,
              where(it -> it.countsSome() && it.members().hasGroup("leaky-bucket")),
              "a leaky bucket assigns each call its turn on arrival, and a turn that has passed cannot be refunded: remove it, and let another rule count by outcome"),
          row(
              PolicyMember.COUNTS,
              where(it -> it.countsSome() && it.isInFlight()),
              "algorithm = CONCURRENCY_LIMIT counts calls while they run, when their completion is not yet known: remove it, or write another algorithm"),
          row(PolicyMember.ZONE, where(Definition::isUnaligned), Row.UNALIGNED),
          row(PolicyMember.ANCHOR, where(Definition::isUnaligned), Row.UNALIGNED),
          row(PolicyMember.CALENDAR, where(Definition::isUnaligned), Row.UNALIGNED),
          row(
              PolicyMember.TIME,
              beside("fixed-window.calendar"),
              "%s already defines the window: remove one of them"));

  /** Of a rule in its policy. */
  public static final Refusals RULE_OF_POLICY =
      new Refusals(
          row(PolicyMember.OBSERVE, in(Trait.TRIAL), "a rule on trial is only observed: remove it"),
          row(PolicyMember.LIMIT_TYPE, in(Trait.ANONYMOUS_RULES), Row.WHO_IS_FIXED),
          row(PolicyMember.HEADER, in(Trait.ANONYMOUS_RULES), Row.WHO_IS_FIXED),
          row(PolicyMember.SUBJECT, in(Trait.ANONYMOUS_RULES), Row.WHO_IS_FIXED),
          row(PolicyMember.RESOLVER, in(Trait.ANONYMOUS_RULES), Row.WHO_IS_FIXED),
          row(
              PolicyMember.COUNTS,
              where(it -> it.traits().contains(Trait.COUNT_IF) && it.countsSome()),
              "countIf already selects the calls that count: remove one of them"),
          row(
              "leaky-bucket",
              in(Trait.COUNT_IF),
              "a turn that has passed cannot be given back to a call that countIf does not select: use another algorithm, or remove countIf"));

  /** Also of a list of rules, which is no member. */
  public static final String NEVER_ANONYMOUS =
      "only limitType = USER_ID or HEADER and a resolver have anonymous callers: remove it";

  /** What is known of a definition beside its members. */
  public enum Trait {
    /** A policy that has rules. */
    RULES,
    /** Some rules take units: all but concurrency limits. */
    UNITS,
    /** Some rules count by outcome. */
    OUTCOMES,
    /** Some rules that take units distinguish subjects. */
    SUBJECTS,
    /** Some callers may have no subject. */
    ANONYMOUS_CALLERS,
    /** A policy with a duplicate guard. */
    GUARD,
    /** A rule on trial. */
    TRIAL,
    /** A rule for callers without a subject. */
    ANONYMOUS_RULES,
    /** A rule whose policy selects the calls that count. */
    COUNT_IF
  }

  /** A definition. */
  private record Definition(MemberSet members, Set<Trait> traits) {

    <T> boolean has(PolicyMember<T> member, T value) {
      return members.get(member).filter(value::equals).isPresent();
    }

    boolean countsSome() {
      return !has(PolicyMember.COUNTS, Counts.ALL);
    }

    boolean isInFlight() {
      return has(PolicyMember.ALGORITHM, Algorithm.CONCURRENCY_LIMIT);
    }

    boolean isUnaligned() {
      return members.isFalse(PolicyMember.ALIGNED);
    }
  }

  /**
   * A mistake.
   *
   * @param place where it stands, if that is written
   * @param wrong what is needed or excluded, for the remedy; empty if the definition is right
   */
  private record Row(
      Function<MemberSet, Optional<Origin>> place,
      Function<Definition, Optional<String>> wrong,
      String remedy) {

    static final String NO_GUARD =
        "it has no effect without preventDuplicate = true: set that, or remove it";
    static final String WHO_IS_COUNTED = "%s already defines who is counted: remove one of them";
    static final String HOW_IT_COUNTS =
        "%s already defines how the rule counts: remove one of them";
    static final String UNALIGNED =
        "only aligned windows have it: write aligned = true, or remove it";
    static final String WHO_IS_FIXED = "this rule counts the subject of its policy: remove it";
  }

  private final List<Row> rows;

  private Refusals(Row... rows) {
    this.rows = List.of(rows);
  }

  /** A row for a member, unless its value turns it off. */
  private static Row row(
      PolicyMember<?> member, Function<Definition, Optional<String>> wrong, String remedy) {
    return new Row(
        members ->
            members
                .find(member)
                .filter(
                    it ->
                        !Duration.ZERO.equals(it.value()) && !Double.valueOf(0).equals(it.value()))
                .map(Sourced::origin),
        wrong,
        remedy);
  }

  /** A row for a member or for any of its group. */
  private static Row row(
      String group, Function<Definition, Optional<String>> wrong, String remedy) {
    return new Row(members -> members.originOf(group), wrong, remedy);
  }

  private static Function<Definition, Optional<String>> where(Predicate<Definition> wrong) {
    return it -> wrong.test(it) ? Optional.of("") : Optional.empty();
  }

  private static Function<Definition, Optional<String>> in(Trait excluded) {
    return where(it -> it.traits().contains(excluded));
  }

  private static Function<Definition, Optional<String>> without(Trait needed) {
    return where(it -> !it.traits().contains(needed));
  }

  private static Function<Definition, Optional<String>> without(String needed) {
    return where(it -> !it.members().hasGroup(needed));
  }

  /** The first of these that is written excludes the member. */
  private static Function<Definition, Optional<String>> beside(String... excluded) {
    return it ->
        Arrays.stream(excluded)
            .filter(it.members()::hasGroup)
            .findFirst()
            .map(group -> it.members().nameOf(group));
  }

  /**
   * Rejects a definition to which a row applies.
   *
   * @throws io.micronaut.context.exceptions.ConfigurationException with the place, the value and
   *     the remedy
   */
  public void check(MemberSet members, Set<Trait> traits) {
    Definition definition = new Definition(members, traits);
    for (Row row : rows) {
      Optional<Origin> place = row.place().apply(members);
      Optional<String> wrong = place.isEmpty() ? Optional.empty() : row.wrong().apply(definition);
      if (wrong.isPresent()) {
        throw place.get().mistake(row.remedy().formatted(wrong.get()));
      }
    }
  }

  /** The remedies of all tables; {@code %s} stands for the other member. */
  public static Stream<String> remedies() {
    return Stream.of(POLICY, GUARD, WHO, RULE, RULE_OF_POLICY)
        .flatMap(table -> table.rows.stream())
        .map(Row::remedy)
        .distinct();
  }
}
