// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.Rule;
import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.config.LimitKeys;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.LimitSettings.Route;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.PolicyChanges;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyDefinition.RuleList;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.plan.MethodPlanner.Planned;
import io.limiter.micronaut.plan.PlanRegistry.Source;
import io.limiter.micronaut.plan.RouteLimits.LimitedPath;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.AnnotationUtil;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.inject.ExecutableMethod;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The plans by the settings of one moment, each built once. A refresh makes another generation,
 * which takes the place of this one when it is complete.
 */
@Internal
public final class PlanGeneration {

  // By name, because micronaut-security is optional.
  private static final String SECURED = "io.micronaut.security.annotation.Secured";
  private static final String ANONYMOUS = "isAnonymous()";

  /** The methods that a new one removes, if they are not used any more: more than it adds. */
  private static final int FORGOTTEN = 64;

  private final Source source;
  private final LimitSettings settings;
  private final SharedLimits shared = new SharedLimits();
  // By the names of the tiers that the settings have.
  private final Map<String, SharedLimits> sharedInTiers = new TreeMap<>();
  // By their identity hashes; of two methods with one hash the last that was looked up. Bounded
  // by the methods of beans that are still in use.
  private final Map<Integer, MethodEntry> known = new ConcurrentHashMap<>();
  private final ReferenceQueue<ExecutableMethod<?, ?>> gone = new ReferenceQueue<>();
  // Bounded by the number of limited methods in the application.
  private final Map<AnnotatedMethod, LimitedBy> plans = new ConcurrentHashMap<>();
  // The policies of those methods, with the disabled ones.
  private final Set<String> ofMethods = ConcurrentHashMap.newKeySet();
  // Bounded by the number of policies.
  private final Map<String, LimitedBy> configured = new ConcurrentHashMap<>();
  // The policies that the settings name on routes.
  private final Set<String> onRoutes = new HashSet<>();
  private volatile RouteLimits routes = RouteLimits.NONE;

  PlanGeneration(Source source, LimitSettings settings) {
    this.source = source;
    this.settings = settings;
    settings.tiers().forEach(tier -> sharedInTiers.put(tier, new SharedLimits()));
    settings.routes().forEach(route -> onRoutes.add(route.policy().value()));
  }

  /**
   * A method, identified by this very object, and its plan: the look-up of each request hashes
   * nothing else. Micronaut makes one or two objects for each method of a singleton, and one for
   * each bean of another scope, so a bean of a request must not stay in memory for its methods.
   */
  private static final class MethodEntry extends WeakReference<ExecutableMethod<?, ?>> {

    final int hash;
    final Optional<LimitPlan> plan;

    MethodEntry(
        ExecutableMethod<?, ?> method,
        int hash,
        Optional<LimitPlan> plan,
        ReferenceQueue<ExecutableMethod<?, ?>> gone) {
      super(method, gone);
      this.hash = hash;
      this.plan = plan;
    }
  }

  /**
   * A method and what limits it: a factory may make two beans of one class with different limits.
   *
   * @param bean the type of its bean: of a method that two types inherit, each counts by itself
   */
  private record AnnotatedMethod(
      ExecutableMethod<?, ?> method, Class<?> bean, List<String> annotations) {

    // A key of the start: what the compiler generates for a record links method handles first.

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof AnnotatedMethod that
          && method.equals(that.method)
          && bean == that.bean
          && annotations.equals(that.annotations);
    }

    @Override
    public int hashCode() {
      return 31 * (31 * method.hashCode() + bean.hashCode()) + annotations.hashCode();
    }
  }

  /**
   * How a method is limited.
   *
   * @param plan its plan; empty if nothing limits it
   * @param ruleNames the names of its policies, including those that are disabled, each with the
   *     names of the rules that single settings may change
   */
  private record LimitedBy(Optional<LimitPlan> plan, Map<String, Set<String>> ruleNames) {

    static final LimitedBy NOTHING = new LimitedBy(Optional.empty(), Map.of());
  }

  /**
   * A policy on a method.
   *
   * @param method the method; of a policy that exists only in settings, its name
   * @param place where its calls are decided
   */
  public record OnMethod(String method, String place, PolicyPlan policy) {}

  /**
   * The plan of a method; empty if it is not limited. All objects that stand for one method have
   * one plan: gate and guard may hold different ones.
   *
   * @param bean finds the type of its bean, if it is looked up for the first time
   */
  Optional<LimitPlan> of(ExecutableMethod<?, ?> method, Supplier<Class<?>> bean) {
    int hash = System.identityHashCode(method);
    MethodEntry found = known.get(hash);
    if (found != null && found.refersTo(method)) {
      return found.plan;
    }
    Optional<LimitPlan> plan =
        method.hasStereotype(Limited.class)
            ? plan(
                new AnnotatedMethod(
                    PlanRegistry.unnamed(method), bean.get(), source.limits(method)))
            : Optional.empty();
    for (int i = 0; i < FORGOTTEN; i++) {
      if (gone.poll() instanceof MethodEntry lost) {
        known.remove(lost.hash, lost);
      }
    }
    known.put(hash, new MethodEntry(method, hash, plan, gone));
    return plan;
  }

  /** Plans the methods that another generation has planned. */
  void planMethodsOf(PlanGeneration other) {
    other.plans.keySet().forEach(this::plan);
  }

  private Optional<LimitPlan> plan(AnnotatedMethod limits) {
    return plans.computeIfAbsent(limits, this::build).plan();
  }

  private LimitedBy build(AnnotatedMethod limits) {
    LimitedMethod method = source.method(limits.method(), limits.bean());
    List<List<PolicyDefinition>> definitions = source.policies(method);
    if (definitions.isEmpty()) {
      return LimitedBy.NOTHING;
    }
    LimitedBy limited =
        built(
            method.description(),
            true,
            method.takesVerdict(),
            changes -> MethodPlanner.plan(source.parts(), method, definitions, changes));
    ofMethods.addAll(limited.ruleNames().keySet());
    return limited;
  }

  /** A plan for all callers: with those of the tiers in which one of its policies differs. */
  private LimitedBy built(
      String method,
      boolean guarded,
      boolean takesVerdict,
      Function<PolicyChanges, Planned> planner) {
    Planned usual = planner.apply(settings.changes());
    Map<String, Set<String>> ruleNames = usual.ruleNames(); // read for this plan alone
    if (usual.policies().isEmpty()) {
      return new LimitedBy(Optional.empty(), ruleNames);
    }
    List<PolicyPlan> policies = new ArrayList<>(usual.policies());
    for (String tier : settings.tiers()) {
      if (settings.changesIn(tier, ruleNames.keySet())) {
        rejectBeforeSecurity(policies, tier);
        Planned other = ofTier(tier, planner);
        policies.replaceAll(policy -> policy.withTier(tier, other.policies()));
        other
            .ruleNames()
            .forEach(
                (policy, names) ->
                    ruleNames.computeIfAbsent(policy, any -> new TreeSet<>()).addAll(names));
      }
    }
    LimitPlan plan = LimitPlan.of(method, policies, guarded, takesVerdict, settings.mayExempt());
    shared.register(plan);
    sharedInTiers.forEach((tier, limits) -> limits.register(plan.inTier(tier)));
    return new LimitedBy(Optional.of(plan), ruleNames);
  }

  /** A tier may contradict what the annotation has: a mistake there names the tier, too. */
  private Planned ofTier(String tier, Function<PolicyChanges, Planned> planner) {
    try {
      return planner.apply(settings.changes(tier));
    } catch (ConfigurationException mistake) {
      String place = LimitKeys.TIERS + '.' + tier;
      String text = String.valueOf(mistake.getMessage());
      throw text.startsWith(place + '.')
          ? mistake
          : new ConfigurationException("With the rules of %s: %s".formatted(place, text), mistake);
    }
  }

  private void rejectBeforeSecurity(List<PolicyPlan> policies, String tier) {
    if (policies.stream().allMatch(policy -> policy.beforeSecurity().isEmpty())) {
      return;
    }
    for (PolicyPlan policy : policies) {
      List<Origin> written = settings.of(tier, policy.name()).settings();
      if (!written.isEmpty()) {
        throw written
            .get(0)
            .mistake(
                "the policy '%s' is decided before security, where no caller has a tier: remove it"
                    .formatted(policy.name()));
      }
    }
  }

  /** The plan of a policy that exists only in the configuration; empty if there is none. */
  public Optional<LimitPlan> configured(String policy) {
    return configuredBy(policy).plan();
  }

  private LimitedBy configuredBy(String policy) {
    PolicyDefinition written = settings.of(policy);
    return exists(written)
        ? configured.computeIfAbsent(
            policy,
            name ->
                built(
                    name,
                    false,
                    false,
                    changes ->
                        MethodPlanner.plan(
                            source.parts(),
                            PolicyDefinition.of(name, written.members().place()),
                            changes)))
        : LimitedBy.NOTHING;
  }

  /**
   * Whether settings alone make a policy: its rules do, and a duplicate guard where a route names
   * the policy. Without one its name may be a mistake.
   */
  private boolean exists(PolicyDefinition policy) {
    boolean limits =
        policy.has(RuleList.RULES)
            || (policy.members().isTrue(PolicyMember.DUPLICATE)
                && onRoutes.contains(policy.name()));
    return limits && !ofMethods.contains(policy.name());
  }

  /**
   * Begins to limit paths. The policies of methods cannot do that, so these must be known by then.
   *
   * @param methods finds the paths of the methods that are limited by annotations
   * @throws ConfigurationException if a route names another policy
   */
  void limitRoutes(String contextPath, Supplier<List<LimitedPath>> methods) {
    List<LimitedPath> limits = new ArrayList<>();
    for (Route route : settings.routes()) {
      Origin named = route.policy();
      String policy = named.value();
      if (!exists(settings.of(policy))) {
        throw named.mistake(
            ofMethods.contains(policy)
                ? "this policy belongs to annotated methods: define rules for a policy of another name under %s"
                    .formatted(PoliciesConfiguration.PREFIX)
                : "no policy of this name has rules%s write them under %s.%s.rules, or set duplicate.enabled there"
                    .formatted(
                        NearestNames.of(settings.policies(), policy).stream()
                            .filter(name -> exists(settings.of(name)))
                            .findFirst()
                            .map("; did you mean %s? Else"::formatted)
                            .orElse(":"),
                        PoliciesConfiguration.PREFIX,
                        policy));
      }
      configured(policy) // none if it is disabled
          .ifPresent(plan -> limits.add(new LimitedPath(route, plan, contextPath)));
    }
    RouteLimits limited =
        limits.isEmpty() ? RouteLimits.NONE : new RouteLimits(List.copyOf(limits));
    limited.requireCombinable(methods);
    routes = limited;
  }

  /**
   * The configured routes and exceptions whose patterns meet none of these, in words.
   *
   * @param paths patterns, each with the method of its route; empty for all methods
   */
  List<String> unmatchedRoutes(Map<String, Set<String>> paths, String contextPath) {
    return routes.unmatched(paths, contextPath);
  }

  /** The plan of a request: that of its method with those of its path. */
  Optional<LimitPlan> ofPath(HttpRequest<?> request, Optional<LimitPlan> ofMethod) {
    return routes == RouteLimits.NONE ? ofMethod : routes.of(request, ofMethod);
  }

  /** The tier of callers without another; empty if those have the usual rules. */
  Optional<String> usualTier() {
    return settings.usualTier();
  }

  /** The policies of this name, of the methods that are planned by now; by their methods. */
  List<OnMethod> named(String policy) {
    return policies(Set.of(policy)).filter(each -> each.policy().name().equals(policy)).toList();
  }

  /** The policies of the methods that are planned by now, and of settings; by their methods. */
  public List<OnMethod> policies() {
    return policies(settings.policies()).toList();
  }

  /**
   * @param some that may exist only in settings
   */
  private Stream<OnMethod> policies(Set<String> some) {
    Stream<LimitPlan> plansOfMethods =
        plans.entrySet().stream()
            .filter(planned -> !makesBean(planned.getKey().method()))
            .flatMap(planned -> planned.getValue().plan().stream());
    return Stream.concat(
            plansOfMethods, some.stream().flatMap(policy -> configured(policy).stream()))
        .flatMap(
            plan ->
                plan.policies().stream()
                    .map(policy -> new OnMethod(plan.method(), plan.place(), policy)))
        .sorted(Comparator.comparing(OnMethod::method));
  }

  /**
   * Whether a method of a factory makes a bean: a limit on it holds for the methods of that bean,
   * which have its annotations, too.
   */
  private static boolean makesBean(ExecutableMethod<?, ?> method) {
    return method.getDeclaringType().isAnnotationPresent(Factory.class)
        && (method.hasDeclaredStereotype(Bean.class)
            || method.hasDeclaredStereotype(AnnotationUtil.SCOPE));
  }

  /**
   * The names of the policies of all methods that are planned by now, and of those that exist only
   * in the configuration.
   */
  public Set<String> policyNames() {
    Set<String> names = new TreeSet<>(ofMethods);
    settings.policies().forEach(policy -> names.addAll(configuredBy(policy).ruleNames().keySet()));
    return names;
  }

  /** The policies of settings that limit nothing: neither an annotation nor a route names them. */
  public Set<String> unused() {
    Set<String> names = new TreeSet<>(settings.policies());
    settings.routes().forEach(route -> names.remove(route.policy().value()));
    names.removeIf(policy -> !exists(settings.of(policy)));
    return names;
  }

  /**
   * The names of the rules of a policy that single settings may change, of the methods that are
   * planned by now.
   */
  public Set<String> ruleNames(String policy) {
    return Stream.concat(plans.values().stream(), Stream.ofNullable(configured.get(policy)))
        .flatMap(limited -> limited.ruleNames().getOrDefault(policy, Set.of()).stream())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The rules of all policies that are planned by now, by the policies' names. */
  public Map<String, List<Rule>> rules() {
    Map<String, List<Rule>> rules = new TreeMap<>();
    for (OnMethod each : policies()) {
      for (PlannedCharge charge : each.policy().charges()) {
        rules
            .computeIfAbsent(each.policy().name(), any -> new ArrayList<>())
            .addAll(charge.rules().rules());
      }
    }
    return rules;
  }

  /** The names of the policies with a rule whose count is 0, which may be a mistake. */
  public Set<String> closed() {
    Set<String> names = new TreeSet<>();
    for (PolicyPlan policy : planned()) {
      for (PlannedCharge charge : policy.charges()) {
        for (Rule rule : charge.rules().rules()) {
          if (rule.count() == 0) {
            names.add(policy.name());
          }
        }
      }
    }
    return names;
  }

  /** All policies that are planned by now, in any order. */
  private List<PolicyPlan> planned() {
    List<PolicyPlan> all = new ArrayList<>();
    plans.values().forEach(of -> of.plan().ifPresent(plan -> all.addAll(plan.policies())));
    configured.values().forEach(of -> of.plan().ifPresent(plan -> all.addAll(plan.policies())));
    return all;
  }

  /** What is probably not intended in policies that are planned by now, in words. */
  public Set<String> doubts() {
    Set<String> doubts = new TreeSet<>();
    for (PolicyPlan policy : planned()) {
      List<PlannedCharge> charges = new ArrayList<>(policy.charges());
      policy.tiers().values().forEach(each -> charges.addAll(each.charges()));
      for (PlannedCharge charge : charges) {
        for (String doubt : charge.doubts()) {
          doubts.add("The policy '%s': %s".formatted(policy.name(), doubt));
        }
      }
    }
    return doubts;
  }

  /** The methods, of those that are planned by now, whose plan is such; sorted. */
  public List<String> methods(Predicate<LimitPlan> some) {
    return all().filter(some).map(LimitPlan::method).sorted().toList();
  }

  /** Where the calls of each method that is planned by now are decided; by method. */
  public Map<String, String> places() {
    return all()
        .collect(Collectors.toMap(LimitPlan::method, LimitPlan::place, (a, b) -> a, TreeMap::new));
  }

  /** What the default of {@code @Duplicate} chose for methods that are planned by now. */
  public List<String> duplicatesByDefault() {
    return all()
        .flatMap(
            plan ->
                plan.duplicates().flatMap(DuplicateGuard::chosen).stream()
                    .map(chosen -> plan.method() + ": " + chosen))
        .sorted()
        .toList();
  }

  /**
   * The methods with {@code @Secured} and the policies of paths whose rules count failures with
   * 401, but not the 401 of security, which answers before the gate decides. A method that is open
   * to all callers responds with its own.
   */
  public List<String> guessesBehindSecurity() {
    Stream<LimitPlan> secured =
        plans.entrySet().stream()
            .filter(planned -> isSecured(planned.getKey().method()))
            .flatMap(planned -> planned.getValue().plan().stream());
    return Stream.concat(secured, routes.plans())
        .filter(plan -> plan.countsFailures(HttpStatus.UNAUTHORIZED.getCode()))
        .filter(plan -> !plan.beforeSecurity())
        .map(LimitPlan::method)
        .distinct()
        .sorted()
        .toList();
  }

  /** Whether a method that is planned by now, or a path, has such a plan. */
  public boolean has(Predicate<LimitPlan> some) {
    return Stream.concat(all(), routes.plans()).anyMatch(some);
  }

  /**
   * The methods that are open to all callers, whose rules count users, and callers without one by
   * the same numbers.
   */
  public List<String> usersOfOpenMethods() {
    return plans.entrySet().stream()
        .filter(
            planned -> List.of(planned.getKey().method().stringValues(SECURED)).contains(ANONYMOUS))
        .flatMap(planned -> planned.getValue().plan().stream())
        .filter(
            plan ->
                plan.charges().stream()
                    .anyMatch(
                        charge ->
                            charge.source().kind() == SubjectSource.Kind.USER
                                && charge.source().anonymous() == Anonymous.ADDRESS
                                && charge.rules().equals(charge.anonymousRules())))
        .map(LimitPlan::method)
        .sorted()
        .toList();
  }

  private static boolean isSecured(ExecutableMethod<?, ?> method) {
    List<String> roles = List.of(method.stringValues(SECURED));
    return !roles.isEmpty() && !roles.contains(ANONYMOUS);
  }

  private Stream<LimitPlan> all() {
    return plans.values().stream().flatMap(planned -> planned.plan().stream());
  }
}
