// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.plan.DuplicateGuard.SubmissionContent;
import io.limiter.micronaut.plan.PlanGeneration.OnMethod;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The policy of an annotated method, of several that one annotation limits, or one that exists only
 * in the configuration. It follows the configuration while it changes. It makes requests for the
 * keys under which the calls of these methods count, with the rules and the cost of the annotation;
 * a cost that is computed from arguments is 1, unless {@link LimitRequest#withCost} sets it.
 *
 * <p>A request names one subject. Where the policy counts several, such as an address and all calls
 * together, {@link LimitRequest#and} joins them:
 *
 * <pre>{@code
 * search.forAddress("192.0.2.1").and(search.forEveryone())
 * }</pre>
 *
 * <p>The duplicate guard is part of a request if all submissions of a subject are equal ({@code by
 * = CALLER}), or if {@link #withSubmission} names one. Concurrency limits are part of it: {@code
 * acquire} and {@code record} take a permit until it is settled or its duration has passed, {@code
 * reset} forgets the calls in flight, so that more may run beside them.
 *
 * <p>{@code reset} and {@code liftBans} find what the rules of every tier have stored for the
 * subject. In a tier without limits a request has the usual rules, observed.
 */
public final class LimitedPolicy {

  private final String name;
  private final Optional<String> tier;
  private final Supplier<List<OnMethod>> plans;
  private final Supplier<List<Origin>> settings;
  private final RequestSubjects subjects;
  private final Optional<String> submission;
  private final Optional<String> anchor;

  /**
   * @param tier whose callers are asked about; empty for those that have the usual rules
   * @param plans those of its methods at the moment; none only if nothing is limited
   * @param settings those that the configuration has for it at the moment
   */
  LimitedPolicy(
      String name,
      Optional<String> tier,
      Supplier<List<OnMethod>> plans,
      Supplier<List<Origin>> settings,
      RequestSubjects subjects) {
    this(name, tier, plans, settings, subjects, Optional.empty(), Optional.empty());
  }

  private LimitedPolicy(
      String name,
      Optional<String> tier,
      Supplier<List<OnMethod>> plans,
      Supplier<List<Origin>> settings,
      RequestSubjects subjects,
      Optional<String> submission,
      Optional<String> anchor) {
    this.name = name;
    this.tier = tier;
    this.plans = plans;
    this.settings = settings;
    this.subjects = subjects;
    this.submission = submission;
    this.anchor = anchor;
  }

  /** A policy while the limiter is disabled: it limits nothing, and takes any subject. */
  @Internal
  public static LimitedPolicy unlimited(String name) {
    return new LimitedPolicy(
        name,
        Optional.empty(),
        List::of,
        List::of,
        new RequestSubjects(
            request -> "", new AddressConfiguration(List.of(), ForwardedHeader.FORWARDED_FOR, 64)));
  }

  /**
   * What a policy limits for one kind of subject.
   *
   * @param key the limit key
   * @param subject who is counted, as written in the annotation: {@code limitType = IP}
   * @param rules the rules for calls with a subject
   * @param anonymousRules the rules for calls without one, which are counted by address
   * @param lease for how long an instance may take units in advance; zero if it may not
   * @param warnAt the share of a rule from which on a subject is near its limit; 0 for none
   */
  public record SubjectLimit(
      String key,
      String subject,
      List<Rule> rules,
      List<Rule> anonymousRules,
      Duration lease,
      double warnAt) {

    public SubjectLimit {
      rules = List.copyOf(rules);
      anonymousRules = List.copyOf(anonymousRules);
    }
  }

  /** The name of the policy. */
  public String name() {
    return name;
  }

  /**
   * Its settings in the configuration: the origin of each number that differs from the annotation.
   * Sorted by key; empty if everything is as annotated.
   */
  public List<Origin> configured() {
    return settings.get();
  }

  /**
   * The methods that it limits, each as class, name and parameter types; sorted. Of a policy that
   * exists only in the configuration, its name.
   */
  public List<String> methods() {
    return plans.get().stream().map(OnMethod::method).distinct().toList();
  }

  /**
   * Where the calls of each method are decided, by the method: {@code gate}, before the body is
   * read; or {@code guard}, with the arguments of the method, and then why.
   */
  public Map<String, String> places() {
    return plans.get().stream()
        .collect(
            Collectors.toMap(OnMethod::method, OnMethod::place, (a, b) -> a, LinkedHashMap::new));
  }

  /** The tier whose callers are asked about; empty if those have the usual rules. */
  public Optional<String> tier() {
    return tier;
  }

  /** The tiers in which this policy differs, sorted. */
  public List<String> tiers() {
    return plans.get().stream()
        .flatMap(each -> each.policy().tiers().keySet().stream())
        .distinct()
        .sorted()
        .toList();
  }

  /**
   * Returns this policy as callers of a tier have it. Without this, callers of the default tier are
   * asked about.
   *
   * @param name a tier of the configuration; one in which the policy does not differ has the usual
   *     rules
   */
  public LimitedPolicy inTier(String name) {
    return new LimitedPolicy(
        this.name, Optional.of(name), plans, settings, subjects, submission, anchor);
  }

  private List<OnMethod> inForce() {
    return plans.get().stream()
        .map(
            each ->
                new OnMethod(
                    each.method(),
                    each.place(),
                    tier.map(each.policy()::inTier).orElse(each.policy())))
        .toList();
  }

  /** What it limits, except duplicates; methods with one limit key share a limit. */
  public List<SubjectLimit> limits() {
    return inForce().stream()
        .flatMap(each -> each.policy().charges().stream())
        .map(
            planned ->
                new SubjectLimit(
                    planned.limit(),
                    planned.source().written(),
                    planned.rules().rules(),
                    planned.source().mayBeAnonymous()
                            && planned.source().anonymous() != Anonymous.REJECT
                        ? planned.anonymousRules().rules()
                        : List.of(),
                    planned.rules().lease(),
                    planned.rules().warnAt()))
        .distinct()
        .toList();
  }

  /** The names of its rules in code, by their names in header fields, where these differ. */
  public Map<String, String> codeNames() {
    Map<String, String> names = new TreeMap<>();
    inForce().forEach(each -> names.putAll(each.policy().otherNames()));
    return names;
  }

  /**
   * Returns the part of this policy for one method. Needed only where one annotation, such as that
   * of a class, gives several methods this policy and each a limit of its own.
   *
   * @param method its name; if there are overloads, also its class and parameter types, as {@link
   *     #methods()} lists them
   * @throws IllegalArgumentException if the policy limits no such method
   */
  public LimitedPolicy method(String method) {
    Supplier<List<OnMethod>> some =
        () ->
            plans.get().stream()
                .filter(
                    plan -> plan.method().equals(method) || simple(plan.method()).equals(method))
                .toList();
    if (some.get().isEmpty() && !plans.get().isEmpty()) {
      throw new IllegalArgumentException(
          "The policy '%s' limits no method %s: use one of %s"
              .formatted(name, method, PlanRegistry.listed(methods())));
    }
    return new LimitedPolicy(name, tier, some, settings, subjects, submission, anchor);
  }

  /**
   * Returns this policy with one submission, so that requests for its submitter have the duplicate
   * guard: {@code reset} frees it if its call will never end, as after the death of its process.
   *
   * @param content the value of the expression of {@code Duplicate.key}: a text, a number, or
   *     another plain value
   * @throws IllegalArgumentException if the policy does not compare submissions by an expression
   */
  public LimitedPolicy withSubmission(Object content) {
    String text = CallExpression.textOf(content);
    boolean named = inForce().stream().anyMatch(each -> named(each.policy(), text).isPresent());
    if (!named && !isUnlimited(inForce())) {
      throw new IllegalArgumentException(
          "The policy '%s' compares no submissions by an expression: leave the submission out"
              .formatted(name));
    }
    return new LimitedPolicy(name, tier, plans, settings, subjects, Optional.of(text), anchor);
  }

  /**
   * Returns this policy for a subject whose periods begin on a day. Needed where an expression over
   * the arguments of a call determines it: without, its periods are read as those of the calendar,
   * so that a look may state another end, or the use of a period that has ended. A bean is asked
   * with the subject instead.
   *
   * @param day a date, or the number of a day of the month or of the week, as the expression gives
   *     it
   * @throws IllegalArgumentException if the policy has no such periods, or this is no day of them
   */
  public LimitedPolicy withAnchor(Object day) {
    String text = CallExpression.textOf(day);
    List<PlannedCharge> anchored =
        inForce().stream()
            .flatMap(each -> each.policy().charges().stream())
            .filter(planned -> planned.anchor().isPresent())
            .toList();
    if (anchored.isEmpty() && !isUnlimited(inForce())) {
      throw new IllegalArgumentException(
          "The policy '%s' has no periods that begin on a day of each subject: leave the anchor out"
              .formatted(name));
    }
    for (PlannedCharge planned : anchored) {
      try {
        var unused = SubjectAnchor.day(text, planned.rules());
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(
            "The anchor '%s' of the policy '%s' is no day: %s"
                .formatted(text, name, e.getMessage()),
            e);
      }
    }
    return new LimitedPolicy(name, tier, plans, settings, subjects, submission, Optional.of(text));
  }

  private static Optional<String> named(PolicyPlan plan, String text) {
    return plan.duplicates().flatMap(guard -> guard.submission().named(text));
  }

  private static String simple(String method) {
    int parameters = method.indexOf('(');
    String qualified = parameters < 0 ? method : method.substring(0, parameters);
    return qualified.substring(qualified.lastIndexOf('.') + 1);
  }

  /**
   * Returns a request for a subject of a policy that counts subjects of one kind.
   *
   * @param value the address, the name of the user, the value of the header, what the resolver
   *     gives, or the value of the expression: a text, a number, or another plain value
   * @throws IllegalArgumentException if the policy counts subjects of several kinds or all calls
   *     together, or if no call has this value
   */
  public LimitRequest forSubject(Object value) {
    if (!hasOwnRules()) {
      return observed(usual().forSubject(value));
    }
    List<OnMethod> limits = inForce();
    if (isUnlimited(limits)) {
      return unlimited();
    }
    List<SubjectSource> sources = sources(plan(limits).policy());
    if (sources.size() != 1 || sources.get(0).kind() == SubjectSource.Kind.EVERYBODY) {
      throw new IllegalArgumentException(
          "The policy '%s' counts %s: name the subject by another method, such as forAddress, forUser or forEveryone, and join requests by LimitRequest.and"
              .formatted(name, counted()));
    }
    return request("this", source -> true, text(sources.get(0), value));
  }

  /**
   * Returns a request for all calls together, which {@code limitType = GLOBAL} counts.
   *
   * @throws IllegalArgumentException if the policy does not count them
   */
  public LimitRequest forEveryone() {
    return request(
        "all calls together", source -> source.kind() == SubjectSource.Kind.EVERYBODY, "");
  }

  /**
   * Returns a request for a client's address, which {@code limitType = IP} counts.
   *
   * @param address an IPv4 or IPv6 address, which stands for its network
   * @throws IllegalArgumentException if the policy does not count addresses, or if this is none
   */
  public LimitRequest forAddress(String address) {
    return request("addresses", source -> source.kind() == SubjectSource.Kind.ADDRESS, address);
  }

  /**
   * Returns a request for a user, as {@code limitType = USER_ID} counts.
   *
   * @param user the name of the principal
   * @throws IllegalArgumentException if the policy does not count users, or if the name is blank
   */
  public LimitRequest forUser(String user) {
    return request(
        "users",
        source ->
            source.kind() == SubjectSource.Kind.USER
                || source.kind() == SubjectSource.Kind.SUBMITTER,
        user);
  }

  /**
   * Returns a request for the value of a header.
   *
   * @param header the name of the header, in any case
   * @throws IllegalArgumentException if the policy does not count by it, or if the value is blank
   */
  public LimitRequest forHeader(String header, String value) {
    String lower = header.toLowerCase(Locale.ROOT);
    return ofSource("header = " + lower, value);
  }

  /**
   * Returns a request for the value of an expression.
   *
   * @param expression as written in the annotation: <code>#{phone}</code>
   * @param value a text, a number, or another plain value
   * @throws IllegalArgumentException if the policy does not count by it, or if no call has this
   *     value
   */
  public LimitRequest forArgument(String expression, Object value) {
    return ofSource("subject = " + expression, CallExpression.textOf(value));
  }

  /**
   * Returns a request for a subject that a bean of the application determines.
   *
   * @param resolver the type that the annotation names
   * @param value what that bean gives
   * @throws IllegalArgumentException if the policy does not count by it, or if the value is blank
   */
  public LimitRequest forResolved(Class<? extends SubjectResolver> resolver, String value) {
    return forResolved(resolver.getName(), value);
  }

  /** Like {@link #forResolved(Class, String)}, but with the name of the type. */
  @Internal
  public LimitRequest forResolved(String resolver, String value) {
    return ofSource("resolver = " + resolver, value);
  }

  /**
   * Returns a request for a subject whose value is not known.
   *
   * @param key one of its state keys
   * @param limit the limit key of that
   * @param source where the subject comes from
   * @param anonymous whether the source did not identify it
   * @throws IllegalArgumentException if nothing counts it any more
   */
  @Internal
  public LimitRequest forKey(StateKey key, String limit, SubjectSource source, boolean anonymous) {
    if (!hasOwnRules()) {
      return observed(usual().forKey(key, limit, source, anonymous));
    }
    for (OnMethod each : inForce()) {
      Optional<LimitRequest> part =
          part(
              each.policy(),
              planned ->
                  planned.limit().equals(limit)
                      && planned.source().written().equals(source.written()),
              planned -> planned.charge(key, anonymous, units(planned)),
              () ->
                  guard(each.policy())
                      .filter(
                          guard ->
                              guard.limit().equals(limit)
                                  && guard.submitter().written().equals(source.written()))
                      .map(guard -> guard.charge(key, each.method(), content(guard))));
      if (part.isPresent()) {
        return part.get();
      }
    }
    throw new IllegalArgumentException(
        "No rule of the policy '%s' counts this subject any more: name one that it counts"
            .formatted(name));
  }

  /**
   * Returns a request for a caller without a user, header or other subject, who is counted by
   * address, with {@code anonymousRules} if there are any.
   *
   * @param address an IPv4 or IPv6 address, which stands for its network
   * @throws IllegalArgumentException if the policy denies such callers or has none
   */
  public LimitRequest forAnonymous(String address) {
    return request(
        "callers without a subject",
        source ->
            source.kind() == SubjectSource.Kind.SUBMITTER
                || (source.mayBeAnonymous() && source.anonymous() != Anonymous.REJECT),
        source -> subjects.anonymous(source, address));
  }

  private LimitRequest ofSource(String written, String value) {
    return request(written, source -> source.written().equals(written), value);
  }

  private LimitRequest request(String asked, Predicate<SubjectSource> some, String value) {
    return request(asked, some, source -> subjects.named(source, value));
  }

  private LimitRequest request(
      String asked, Predicate<SubjectSource> some, Function<SubjectSource, Subject> who) {
    if (!hasOwnRules()) {
      return observed(usual().request(asked, some, who));
    }
    List<OnMethod> limits = inForce();
    if (isUnlimited(limits)) {
      return unlimited();
    }
    OnMethod on = plan(limits);
    return part(
            on.policy(),
            planned -> some.test(planned.source()),
            planned -> charge(planned, who.apply(planned.source())),
            () ->
                guard(on.policy())
                    .filter(guard -> some.test(guard.submitter()))
                    .map(guard -> guard.charge(key(guard, who), on.method(), content(guard))))
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "The policy '%s' does not count %s, but %s".formatted(name, asked, counted())));
  }

  private Charge charge(PlannedCharge planned, Subject subject) {
    LocalDate day =
        planned.anchor().isEmpty() || subject.isAnonymous()
            ? SubjectAnchor.USUAL
            : anchor.isPresent()
                ? SubjectAnchor.day(anchor.get(), planned.rules())
                : planned.anchor().get().of(subject);
    return planned.charge(subject, day, units(planned));
  }

  private static StateKey key(DuplicateGuard guard, Function<SubjectSource, Subject> who) {
    return StateKey.of(guard.limit(), who.apply(guard.submitter()));
  }

  /**
   * Whether requests have its rules; not in a tier without them: there a subject may have been
   * counted by the usual ones before, or be banned.
   */
  private boolean hasOwnRules() {
    return tier.isEmpty() || !hasNoRules(inForce()) || hasNoRules(plans.get());
  }

  private LimitedPolicy usual() {
    return new LimitedPolicy(name, Optional.empty(), plans, settings, subjects, submission, anchor);
  }

  private static boolean hasNoRules(List<OnMethod> limits) {
    return limits.stream().allMatch(each -> each.policy().charges().isEmpty());
  }

  /** Returns this request, observed: no rule denies a call. */
  private static LimitRequest observed(LimitRequest request) {
    return request.observe(request.charges()::contains);
  }

  private static boolean isUnlimited(List<OnMethod> limits) {
    return limits.stream().allMatch(each -> each.policy().isEmpty());
  }

  /** One plan for all its methods; fails if they are limited separately. */
  private OnMethod plan(List<OnMethod> limits) {
    OnMethod first = limits.get(0);
    for (OnMethod other : limits) {
      boolean same =
          other.policy().charges().equals(first.policy().charges())
              && (other.method().equals(first.method())
                  || (guard(other.policy()).isEmpty() && guard(first.policy()).isEmpty()));
      if (!same) {
        throw new IllegalArgumentException(
            "The policy '%s' limits several methods separately: choose one by method(…), of %s"
                .formatted(name, PlanRegistry.listed(methods())));
      }
    }
    return first;
  }

  /** Who is counted, for messages. */
  private String counted() {
    String sources =
        sources(plan(inForce()).policy()).stream()
            .map(
                source ->
                    source.kind() == SubjectSource.Kind.SUBMITTER
                        ? "submitters of duplicates"
                        : source.written())
            .collect(Collectors.joining(", "));
    return sources.isEmpty() ? "only duplicates that a subject alone does not name" : sources;
  }

  /** Only expressions may give a number, whose text does not depend on its notation. */
  private static String text(SubjectSource source, Object value) {
    String text = CallExpression.textOf(value);
    return source.kind() == SubjectSource.Kind.EXPRESSION ? text : value.toString();
  }

  /**
   * The sources that count a method's calls, each once, however calls without a subject are
   * limited. The source of the duplicate guard is included only if the submission is known.
   */
  private List<SubjectSource> sources(PolicyPlan plan) {
    return Stream.concat(
            plan.charges().stream().map(PlannedCharge::source),
            guard(plan).stream().map(DuplicateGuard::submitter))
        .map(source -> source.withAnonymous(Anonymous.ADDRESS))
        .distinct()
        .toList();
  }

  /** The duplicate guard, if the submission is known: the one that was named, or any. */
  private Optional<DuplicateGuard> guard(PolicyPlan plan) {
    return plan.duplicates()
        .filter(
            guard ->
                guard.submission() instanceof SubmissionContent.ByCaller
                    || submission.flatMap(guard.submission()::named).isPresent());
  }

  private String content(DuplicateGuard guard) {
    return submission.flatMap(guard.submission()::named).orElse("");
  }

  /**
   * The part of a call's request that some of its charges make, at the cost of the annotation; 1
   * unit where the arguments of a call determine it. Empty if there is none.
   */
  private Optional<LimitRequest> part(
      PolicyPlan plan,
      Predicate<PlannedCharge> some,
      Function<PlannedCharge, Charge> charge,
      Supplier<Optional<Charge>> guarded) {
    List<Charge> taken = plan.charges().stream().filter(some).map(charge).toList();
    Optional<Charge> submission = guarded.get();
    if (taken.isEmpty() && submission.isEmpty()) {
      return Optional.empty();
    }
    Policy counted =
        new Policy(
            plan.name(),
            taken.isEmpty() ? submission.get().limit() : taken.get(0).limit(),
            taken.stream().map(Charge::stack).toList(),
            submission.map(Charge::stack),
            List.of(plan.name()),
            plan.otherNames(),
            plans.get().stream().flatMap(each -> each.policy().stacks()).distinct().toList());
    return Optional.of(new LimitRequest(counted, taken, submission));
  }

  private static int units(PlannedCharge planned) {
    return Math.max(1, planned.units());
  }

  private LimitRequest unlimited() {
    Policy policy = Policy.of(name, SlidingWindowLogRule.of(1, Duration.ofSeconds(1)));
    return LimitRequest.of(policy, Subject.global());
  }
}
