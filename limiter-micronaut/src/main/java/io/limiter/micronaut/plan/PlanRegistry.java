// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.LimitSettings.Route;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.PolicyChanges;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Written;
import io.limiter.micronaut.plan.MethodPlanner.Planned;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.context.BeanContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.context.exceptions.NonUniqueBeanException;
import io.micronaut.context.processor.ExecutableMethodProcessor;
import io.micronaut.core.annotation.AnnotationUtil;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.util.StringUtils;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.context.ServerContextPathProvider;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.DelegatingExecutableMethod;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.inject.ProxyBeanDefinition;
import io.micronaut.inject.proxy.InterceptedBean;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteMatch;
import io.micronaut.web.router.Router;
import jakarta.inject.Singleton;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The plans of all limited methods, each built once. Methods of beans are planned when the context
 * starts, so that a mistake in an annotation stops the start; those of beans that a factory makes
 * are planned when they are first called.
 */
@Internal
@Singleton
public final class PlanRegistry implements ExecutableMethodProcessor<Limited> {

  private static final int MAX_LISTED = 20;

  /** An attribute of a request: the plan of its route, or {@link #NOT_LIMITED}. */
  private static final String ROUTE = "io.limiter.plan";

  private static final Object NOT_LIMITED = false;

  // By name, because micronaut-websocket is optional.
  private static final String ON_OPEN = "io.micronaut.websocket.annotation.OnOpen";
  private static final String ON_MESSAGE = "io.micronaut.websocket.annotation.OnMessage";

  private final Source source;
  private final BeanContext beans;
  private final BeanProvider<Router> router;
  private final String contextPath;
  private final ReferenceQueue<ExecutableMethod<?, ?>> gone = new ReferenceQueue<>();
  private volatile Generation current;

  PlanRegistry(
      Source source,
      BeanContext beans,
      PoliciesConfiguration policies,
      BeanProvider<Router> router,
      Optional<ServerContextPathProvider> server) {
    this.source = source;
    this.beans = beans;
    this.router = router;
    this.contextPath =
        server
            .map(ServerContextPathProvider::getContextPath)
            .map(path -> StringUtils.prependUri("/", path))
            .map(path -> path.endsWith("/") ? path.substring(0, path.length() - 1) : path)
            .orElse("");
    this.current = new Generation(policies.current());
  }

  /** The plans by the settings of one moment. */
  private static final class Generation {

    final LimitSettings settings;
    final SharedLimits shared = new SharedLimits();
    // By the names of the tiers that the settings have.
    final Map<String, SharedLimits> sharedInTiers = new TreeMap<>();
    // By their identity hashes; of two methods with one hash the last that was looked up. Bounded
    // by the methods of beans that are still in use.
    final Map<Integer, KnownMethod> known = new ConcurrentHashMap<>();
    // Bounded by the number of limited methods in the application.
    final Map<AnnotatedMethod, LimitedBy> plans = new ConcurrentHashMap<>();
    // The policies of those methods, with the disabled ones.
    final Set<String> ofMethods = ConcurrentHashMap.newKeySet();
    volatile RouteLimits routes = RouteLimits.NONE;
    // Bounded by the number of policies.
    final Map<String, LimitedBy> configured = new ConcurrentHashMap<>();

    Generation(LimitSettings settings) {
      this.settings = settings;
      settings.tiers().forEach(tier -> sharedInTiers.put(tier, new SharedLimits()));
    }

    Stream<LimitPlan> all() {
      return plans.values().stream().flatMap(planned -> planned.plan().stream());
    }
  }

  /**
   * A method, identified by this very object, and its plan: the look-up of each request hashes
   * nothing else. Micronaut makes one or two objects for each method of a singleton, and one for
   * each bean of another scope, so a bean of a request must not stay in memory for its methods.
   */
  private static final class KnownMethod extends WeakReference<ExecutableMethod<?, ?>> {

    final int hash;
    final Optional<LimitPlan> plan;

    KnownMethod(
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
      ExecutableMethod<?, ?> method, Class<?> bean, List<String> annotations) {}

  @Override
  public void process(BeanDefinition<?> bean, ExecutableMethod<?, ?> method) {
    var unused = find(method, () -> written(bean.getBeanType()), current);
  }

  /** The plan of a method; empty if it is not limited. */
  public Optional<LimitPlan> of(ExecutableMethod<?, ?> method) {
    return of(method, method);
  }

  /**
   * @param target the bean, or anything else if it is not known
   */
  private Optional<LimitPlan> of(ExecutableMethod<?, ?> method, Object target) {
    Generation generation = current;
    KnownMethod known = generation.known.get(System.identityHashCode(method));
    return known != null && known.refersTo(method)
        ? known.plan
        : find(method, () -> beanOf(method, target), generation);
  }

  private Class<?> beanOf(ExecutableMethod<?, ?> method, Object target) {
    if (target instanceof InterceptedBean) {
      return written(target.getClass());
    }
    ExecutableMethod<?, ?> own = unnamed(method);
    // Loops, since a first request runs them, and each lambda would be a class to load.
    for (BeanDefinition<?> bean : beans.getBeanDefinitions(method.getDeclaringType())) {
      for (BeanDefinition<?> definition : withTarget(bean)) {
        for (ExecutableMethod<?, ?> candidate : definition.getExecutableMethods()) {
          if (unnamed(candidate) == own) {
            return written(bean.getBeanType());
          }
        }
      }
    }
    return method.getDeclaringType();
  }

  /** The type that a class which Micronaut has woven extends or implements; else the class. */
  private static Class<?> written(Class<?> type) {
    if (!InterceptedBean.class.isAssignableFrom(type)) {
      return type;
    }
    return type.getSuperclass() == Object.class ? type.getInterfaces()[0] : type.getSuperclass();
  }

  /** The start names a method by its bean, a request does not: else it would be planned twice. */
  private static ExecutableMethod<?, ?> unnamed(ExecutableMethod<?, ?> method) {
    return method instanceof DelegatingExecutableMethod<?, ?> named ? named.getTarget() : method;
  }

  /**
   * The plan of a method for a call in the name of a request: that by which the gate has decided
   * the request, if it is one of the same method. Settings may have changed since.
   *
   * @param target the bean that is called
   */
  public Optional<LimitPlan> of(
      ExecutableMethod<?, ?> method, Object target, Optional<? extends HttpRequest<?>> request) {
    Optional<LimitPlan> plan = of(method, target);
    if (request.isEmpty()
        || !(request.get().getAttribute(ROUTE).orElse(null) instanceof LimitPlan decided)
        || (plan.isPresent() && plan.get() == decided)) {
      return plan;
    }
    return plan.filter(now -> now.method().equals(decided.method())).isPresent()
        ? Optional.of(decided)
        : plan;
  }

  /**
   * Plans all methods again, by other settings. The current plans decide calls until all of the new
   * ones are complete.
   *
   * @param check rejects settings of what does not exist: it is given the names of all policies,
   *     and finds the names of the rules of one. It returns what uses the settings once the new
   *     plans are in use
   * @throws io.micronaut.context.exceptions.ConfigurationException if the settings are invalid;
   *     then nothing changes
   */
  public synchronized void replan(
      LimitSettings settings,
      BiFunction<Set<String>, Function<String, Set<String>>, Runnable> check) {
    Generation next = new Generation(settings);
    current.plans.keySet().forEach(limits -> plan(limits, next));
    Runnable use = check.apply(policyNames(next), policy -> ruleNames(policy, next));
    next.routes = routes(next);
    ShapeChanges.warn(
        policies(current, current.settings.policies()).toList(),
        policies(next, settings.policies()).toList());
    current = next;
    use.run();
  }

  /**
   * The plan of the method that answers this request; empty if there is none, or it is not limited.
   * It is looked up once for each request. The methods of a WebSocket answer no request: the
   * handshake matches one of them, and each of their calls is decided by itself.
   */
  public Optional<LimitPlan> ofRoute(HttpRequest<?> request) {
    Object found = request.getAttribute(ROUTE).orElse(null);
    if (found != null) {
      return found instanceof LimitPlan plan ? Optional.of(plan) : Optional.empty();
    }
    Generation generation = current;
    RouteMatch<?> match = RouteAttributes.getRouteMatch(request).orElse(null);
    Optional<LimitPlan> plan = Optional.empty();
    if (match instanceof MethodExecutionHandle<?, ?> handle) {
      ExecutableMethod<?, ?> method = handle.getExecutableMethod();
      plan = of(method);
      if (plan.isPresent() && isOfWebSocket(method)) {
        plan = Optional.empty();
      }
    }
    if (generation.routes != RouteLimits.NONE) {
      plan = generation.routes.of(request, plan);
    }
    if (match != null || plan.isPresent()) {
      request.setAttribute(ROUTE, plan.isPresent() ? plan.get() : NOT_LIMITED);
    }
    return plan;
  }

  /**
   * Begins to limit paths. The policies of methods cannot do that, so these must be known by then.
   *
   * @throws ConfigurationException if a route names another policy
   */
  public void limitRoutes() {
    Generation generation = current;
    generation.routes = routes(generation);
  }

  private RouteLimits routes(Generation generation) {
    List<RouteLimits.LimitedPath> limits = new ArrayList<>();
    for (Route route : generation.settings.routes()) {
      Origin named = route.policy();
      String policy = named.value();
      if (!exists(generation.settings.of(policy), generation)) {
        throw named.mistake(
            generation.ofMethods.contains(policy)
                ? "this policy belongs to annotated methods: define rules for a policy of another name under %s"
                    .formatted(PoliciesConfiguration.PREFIX)
                : "no policy of this name has rules: write them under %s.%s.rules, or set duplicate.enabled there"
                    .formatted(PoliciesConfiguration.PREFIX, policy));
      }
      configured(policy, generation) // none if it is disabled
          .ifPresent(plan -> limits.add(new RouteLimits.LimitedPath(route, plan, contextPath)));
    }
    RouteLimits routes = limits.isEmpty() ? RouteLimits.NONE : new RouteLimits(List.copyOf(limits));
    routes.requireCombinable(() -> methodPaths(generation));
    return routes;
  }

  /** The paths of the methods that are limited by annotations. */
  private List<RouteLimits.LimitedPath> methodPaths(Generation generation) {
    return router
        .get()
        .uriRoutes()
        .flatMap(
            route ->
                find(
                    route.getTargetMethod().getExecutableMethod(),
                    () -> written(route.getTargetMethod().getDeclaringType()),
                    generation)
                    .map(plan -> new RouteLimits.LimitedPath(route, plan))
                    .stream())
        .toList();
  }

  /** Whether calls of a method are the connections or the messages of a WebSocket. */
  public static boolean isOfWebSocket(ExecutableMethod<?, ?> method) {
    return method.hasAnnotation(ON_MESSAGE) || method.hasAnnotation(ON_OPEN);
  }

  /**
   * Plans the methods of all beans, including those that factories make. It inspects every bean, so
   * the start does not do it.
   */
  public void planAll() {
    for (BeanDefinition<?> bean : beans.getAllBeanDefinitions()) {
      for (BeanDefinition<?> definition : withTarget(bean)) {
        definition.getExecutableMethods().stream()
            .filter(method -> method.hasStereotype(Limited.class))
            .forEach(method -> find(method, () -> written(bean.getBeanType()), current));
      }
    }
  }

  /** A bean and what it stands for: of a factory's bean, only that has methods. */
  private List<BeanDefinition<?>> withTarget(BeanDefinition<?> bean) {
    Optional<? extends BeanDefinition<?>> behind =
        bean instanceof ProxyBeanDefinition<?> proxy ? target(proxy) : Optional.empty();
    return behind.isPresent() ? List.of(bean, behind.get()) : List.of(bean);
  }

  /** What the proxy stands for; none if a look-up cannot distinguish it from beans of its type. */
  private <T> Optional<BeanDefinition<T>> target(ProxyBeanDefinition<T> proxy) {
    try {
      return beans.findProxyTargetBeanDefinition(proxy);
    } catch (NonUniqueBeanException several) {
      return Optional.empty(); // its methods are planned when they are called
    }
  }

  /**
   * A policy on a method.
   *
   * @param method the method; of a policy that exists only in settings, its name
   */
  record OnMethod(String method, PolicyPlan policy) {}

  /** The policies of this name, of the methods that are planned by now; by their methods. */
  List<OnMethod> named(String policy) {
    return policies(current, Set.of(policy))
        .filter(each -> each.policy().name().equals(policy))
        .toList();
  }

  /**
   * The policies of the methods, and some that may exist only in settings; by their methods.
   *
   * @param configured the names of the latter
   */
  private Stream<OnMethod> policies(Generation generation, Set<String> configured) {
    Stream<LimitPlan> ofMethods =
        generation.plans.entrySet().stream()
            .filter(planned -> !makesBean(planned.getKey().method()))
            .flatMap(planned -> planned.getValue().plan().stream());
    return Stream.concat(
            ofMethods,
            configured.stream().flatMap(policy -> configured(policy, generation).stream()))
        .flatMap(
            plan -> plan.policies().stream().map(policy -> new OnMethod(plan.method(), policy)))
        .sorted(Comparator.comparing(OnMethod::method));
  }

  /** The tier of callers without another; empty if those have the usual rules. */
  Optional<String> usualTier() {
    return current.settings.usualTier();
  }

  /** The plan of a policy that exists only in the configuration; empty if there is none. */
  public Optional<LimitPlan> configured(String policy) {
    return configured(policy, current);
  }

  private Optional<LimitPlan> configured(String policy, Generation generation) {
    return configuredBy(policy, generation).plan();
  }

  private LimitedBy configuredBy(String policy, Generation generation) {
    PolicyDefinition settings = generation.settings.of(policy);
    return exists(settings, generation)
        ? generation.configured.computeIfAbsent(
            policy,
            name ->
                built(
                    generation,
                    name,
                    false,
                    false,
                    changes ->
                        MethodPlanner.plan(
                            source.parts(),
                            PolicyDefinition.of(name, settings.members().place()),
                            changes)))
        : LimitedBy.NOTHING;
  }

  /**
   * Whether settings alone make a policy: its rules do, and a duplicate guard where a route names
   * the policy. Without one its name may be a mistake.
   */
  private static boolean exists(PolicyDefinition policy, Generation generation) {
    boolean limits =
        policy.rules().isPresent()
            || (policy.members().isTrue(PolicyMember.DUPLICATE)
                && generation.settings.routes().stream()
                    .anyMatch(route -> route.policy().value().equals(policy.name())));
    return limits && !generation.ofMethods.contains(policy.name());
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
    return policyNames(current);
  }

  private Set<String> policyNames(Generation generation) {
    Set<String> names = new TreeSet<>(generation.ofMethods);
    generation
        .settings
        .policies()
        .forEach(policy -> names.addAll(configuredBy(policy, generation).ruleNames().keySet()));
    return names;
  }

  /**
   * The names of the rules of a policy that single settings may change, of the methods that are
   * planned by now.
   */
  public Set<String> ruleNames(String policy) {
    return ruleNames(policy, current);
  }

  private static Set<String> ruleNames(String policy, Generation generation) {
    return Stream.concat(
            generation.plans.values().stream(), generation.configured.values().stream())
        .flatMap(limited -> limited.ruleNames().getOrDefault(policy, Set.of()).stream())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The rules of all policies that are planned by now, by the policies' names. */
  public Map<String, List<Rule>> rules() {
    Generation generation = current;
    Map<String, List<Rule>> rules = new TreeMap<>();
    for (OnMethod each : policies(generation, generation.settings.policies()).toList()) {
      for (PlannedCharge charge : each.policy().charges()) {
        rules
            .computeIfAbsent(each.policy().name(), any -> new ArrayList<>())
            .addAll(charge.rules().rules());
      }
    }
    return rules;
  }

  /** The methods, of those that are planned by now, whose plan is such; sorted. */
  public List<String> methods(Predicate<LimitPlan> some) {
    return current.all().filter(some).map(LimitPlan::method).sorted().toList();
  }

  /** Names for a message, of many the first. */
  public static String listed(List<String> names) {
    return String.join(", ", names.subList(0, Math.min(names.size(), MAX_LISTED)))
        + (names.size() > MAX_LISTED ? ", …" : "");
  }

  /** What the default of {@code @Duplicate} chose for methods that are planned by now. */
  public List<String> duplicatesByDefault() {
    return current
        .all()
        .flatMap(
            plan ->
                plan.duplicates().flatMap(DuplicateGuard::chosen).stream()
                    .map(chosen -> plan.method() + ": " + chosen))
        .sorted()
        .toList();
  }

  /** One plan for all objects that stand for one method: gate and guard may hold different ones. */
  private Optional<LimitPlan> find(
      ExecutableMethod<?, ?> method, Supplier<Class<?>> bean, Generation generation) {
    Optional<LimitPlan> plan =
        method.hasStereotype(Limited.class)
            ? plan(
                new AnnotatedMethod(unnamed(method), bean.get(), source.limits(method)), generation)
            : Optional.empty();
    for (Object lost = gone.poll(); lost != null; lost = gone.poll()) {
      generation.known.remove(((KnownMethod) lost).hash, lost);
    }
    int hash = System.identityHashCode(method);
    generation.known.put(hash, new KnownMethod(method, hash, plan, gone));
    return plan;
  }

  private Optional<LimitPlan> plan(AnnotatedMethod limits, Generation generation) {
    return generation.plans.computeIfAbsent(limits, any -> build(limits, generation)).plan();
  }

  private LimitedBy build(AnnotatedMethod limits, Generation generation) {
    LimitedMethod method = source.method(limits.method(), limits.bean());
    List<List<PolicyDefinition>> definitions = source.policies(method);
    if (definitions.isEmpty()) {
      return LimitedBy.NOTHING;
    }
    LimitedBy limited =
        built(
            generation,
            method.description(),
            true,
            method.takesVerdict(),
            changes -> MethodPlanner.plan(source.parts(), method, definitions, changes));
    generation.ofMethods.addAll(limited.ruleNames().keySet());
    return limited;
  }

  /** A plan for all callers: with those of the tiers in which one of its policies differs. */
  private static LimitedBy built(
      Generation generation,
      String method,
      boolean guarded,
      boolean takesVerdict,
      Function<PolicyChanges, Planned> planner) {
    LimitSettings settings = generation.settings;
    Planned usual = planner.apply(settings.changes());
    Map<String, Set<String>> ruleNames = usual.ruleNames(); // read for this plan alone
    if (usual.policies().isEmpty()) {
      return new LimitedBy(Optional.empty(), ruleNames);
    }
    List<PolicyPlan> policies = new ArrayList<>(usual.policies());
    for (String tier : settings.tiers()) {
      if (settings.changesIn(tier, ruleNames.keySet())) {
        rejectBeforeSecurity(policies, tier, settings);
        Planned other = planner.apply(settings.changes(tier));
        policies.replaceAll(policy -> policy.withTier(tier, other.policies()));
        other
            .ruleNames()
            .forEach(
                (policy, names) ->
                    ruleNames.computeIfAbsent(policy, any -> new TreeSet<>()).addAll(names));
      }
    }
    LimitPlan plan =
        LimitPlan.of(method, policies, guarded, takesVerdict, settings.exempt().isPresent());
    generation.shared.register(plan);
    generation.sharedInTiers.forEach((tier, shared) -> shared.register(plan.inTier(tier)));
    return new LimitedBy(Optional.of(plan), ruleNames);
  }

  private static void rejectBeforeSecurity(
      List<PolicyPlan> policies, String tier, LimitSettings settings) {
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

  /**
   * A plan of no method, for a {@link WarmUpStep}: it admits one call in a second, or one
   * submission. It limits what nothing else limits, since another warm-up may have used up what it
   * allows.
   *
   * @param submissions whether it has a duplicate guard and no rule, else the reverse
   */
  public LimitPlan ofWarmUp(boolean submissions) {
    String limit =
        WarmUpStep.POLICY + '.' + Long.toHexString(ThreadLocalRandom.current().nextLong());
    MemberSet members =
        MemberSet.of(WarmUpStep.POLICY)
            .with(PolicyMember.KEY, written(limit))
            .with(PolicyMember.LIMIT_TYPE, written(LimitType.IP))
            .with(PolicyMember.DUPLICATE, written(submissions))
            .with(PolicyMember.DUPLICATE_BY, written(DuplicateBy.CALLER))
            .with(PolicyMember.DUPLICATE_TIME, written(Duration.ofSeconds(1)));
    MemberSet rule =
        MemberSet.of(WarmUpStep.POLICY)
            .with(PolicyMember.COUNT, written(1L))
            .with(PolicyMember.TIME, written(Duration.ofSeconds(1)));
    PolicyDefinition policy =
        PolicyDefinition.of(WarmUpStep.POLICY, WarmUpStep.POLICY)
            .withMembers(members)
            .withListedRules(submissions ? List.of() : List.of(rule));
    List<PolicyPlan> policies =
        MethodPlanner.plan(source.parts(), policy, PolicyChanges.NONE).policies();
    return LimitPlan.of(WarmUpStep.POLICY, policies, true, false, false);
  }

  private static <T> Written<T> written(T value) {
    return new Written<>(value, new Origin(WarmUpStep.POLICY, String.valueOf(value), ""));
  }

  /** Makes the guard use the part of the plan by which the gate has decided this request. */
  public static void decideBy(LimitPlan part, HttpRequest<?> request) {
    request.setAttribute(ROUTE, part);
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

  /** Reads the policies of methods. */
  @Internal
  public interface Source {

    /** What planning needs. */
    MethodPlanner.PlanningBeans parts();

    /** The method of a bean of this type as the readers need it. */
    LimitedMethod method(ExecutableMethod<?, ?> method, Class<?> bean);

    /**
     * The policies of each place that limits a method, the nearest first.
     *
     * @throws ConfigurationException if an annotation is invalid
     */
    List<List<PolicyDefinition>> policies(LimitedMethod method);

    /**
     * What limits a method, equal for two objects that stand for one method with the same limits.
     */
    List<String> limits(ExecutableMethod<?, ?> method);
  }
}
