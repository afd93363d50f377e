// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.annotation.Limited;
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.exceptions.NonUniqueBeanException;
import io.micronaut.context.processor.ExecutableMethodProcessor;
import io.micronaut.core.annotation.AnnotationUtil;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.DelegatingExecutableMethod;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.inject.ProxyBeanDefinition;
import io.micronaut.web.router.RouteAttributes;
import jakarta.inject.Singleton;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The plans of all limited methods, each built once. Methods of beans are planned when the context
 * starts, so that a mistake in an annotation stops the start; those of beans that a factory makes
 * are planned when they are first called.
 */
@Internal
@Singleton
public final class LimitPlans implements ExecutableMethodProcessor<Limited> {

  private static final int MAX_LISTED = 20;

  /** An attribute of a request: the plan of its route, or {@link #NOT_LIMITED}. */
  private static final String ROUTE = "io.limiter.plan";

  private static final Object NOT_LIMITED = false;

  // By name, because micronaut-websocket is optional.
  private static final String ON_OPEN = "io.micronaut.websocket.annotation.OnOpen";
  private static final String ON_MESSAGE = "io.micronaut.websocket.annotation.OnMessage";

  private final Source source;
  private final SharedLimits shared = new SharedLimits();
  // Bounded by the methods of beans that are still in use.
  private final Map<Object, Optional<LimitPlan>> known = new ConcurrentHashMap<>();
  private final ReferenceQueue<ExecutableMethod<?, ?>> gone = new ReferenceQueue<>();
  // Bounded by the number of limited methods in the application.
  private final Map<Limits, Optional<LimitPlan>> plans = new ConcurrentHashMap<>();

  LimitPlans(Source source) {
    this.source = source;
  }

  /**
   * A method as this very object: the look-up of each request hashes nothing else. Micronaut makes
   * one or two objects for each method of a singleton, and one for each bean of another scope, so a
   * bean of a request must not stay in memory for its methods.
   */
  private static final class Known extends WeakReference<ExecutableMethod<?, ?>> {

    private final int hash;

    Known(ExecutableMethod<?, ?> method, ReferenceQueue<ExecutableMethod<?, ?>> gone) {
      super(method, gone);
      hash = System.identityHashCode(method);
    }

    /** Of two that stand for no method any more, each is itself alone. */
    @Override
    public boolean equals(@Nullable Object other) {
      return this == other
          || (other instanceof Known that && !refersTo(null) && refersTo(that.get()));
    }

    @Override
    public int hashCode() {
      return hash;
    }
  }

  /** What a request looks a method up by, without a reference that the collector has to look at. */
  private record Lookup(ExecutableMethod<?, ?> method) {

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Known that && that.refersTo(method);
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(method);
    }
  }

  /** A method and what limits it: a factory may make two beans of one class with other limits. */
  private record Limits(ExecutableMethod<?, ?> method, List<String> annotations) {

    static Limits of(Source source, ExecutableMethod<?, ?> method) {
      // The start names a method by its bean, a request does not: else it would be planned twice.
      return new Limits(
          method instanceof DelegatingExecutableMethod<?, ?> named ? named.getTarget() : method,
          source.limits(method));
    }
  }

  @Override
  public void process(BeanDefinition<?> bean, ExecutableMethod<?, ?> method) {
    of(method);
  }

  /** The plan of a method; empty if it is not limited. */
  public Optional<LimitPlan> of(ExecutableMethod<?, ?> method) {
    Optional<LimitPlan> plan = known.get(new Lookup(method));
    return plan != null ? plan : find(method);
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
    if (RouteAttributes.getRouteMatch(request).orElse(null)
        instanceof MethodExecutionHandle<?, ?> handle) {
      ExecutableMethod<?, ?> method = handle.getExecutableMethod();
      Optional<LimitPlan> plan = of(method);
      boolean limited = plan.isPresent() && !isOfWebSocket(method);
      request.setAttribute(ROUTE, limited ? plan.get() : NOT_LIMITED);
      return limited ? plan : Optional.empty();
    }
    return Optional.empty();
  }

  /** Whether calls of a method are the connections or the messages of a WebSocket. */
  public static boolean isOfWebSocket(ExecutableMethod<?, ?> method) {
    return method.hasAnnotation(ON_MESSAGE) || method.hasAnnotation(ON_OPEN);
  }

  /**
   * Plans the methods of all beans, including those that factories make. It inspects every bean, so
   * the start does not do it.
   */
  public void planAll(BeanContext context) {
    for (BeanDefinition<?> bean : context.getAllBeanDefinitions()) {
      planAll(bean);
      if (bean instanceof ProxyBeanDefinition<?> proxy) {
        // Of a factory's bean, only the definition behind the proxy has methods.
        target(context, proxy).ifPresent(this::planAll);
      }
    }
  }

  /** What the proxy stands for; none if a look-up cannot distinguish it from beans of its type. */
  private static <T> Optional<BeanDefinition<T>> target(
      BeanContext context, ProxyBeanDefinition<T> proxy) {
    try {
      return context.findProxyTargetBeanDefinition(proxy);
    } catch (NonUniqueBeanException several) {
      return Optional.empty(); // its methods are planned when they are called
    }
  }

  private void planAll(BeanDefinition<?> bean) {
    bean.getExecutableMethods().stream()
        .filter(method -> method.hasStereotype(Limited.class))
        .forEach(this::of);
  }

  /** The plans, of those that are made by now, whose policy has this name; by their methods. */
  List<LimitPlan> named(String policy) {
    return plans.entrySet().stream()
        .filter(plan -> !makesBean(plan.getKey().method()))
        .flatMap(plan -> plan.getValue().stream())
        .filter(plan -> plan.policy().name().equals(policy))
        .sorted(Comparator.comparing(LimitPlan::method))
        .toList();
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

  /** The names of the policies of all methods that are planned by now. */
  public Set<String> policyNames() {
    return plans.values().stream()
        .flatMap(Optional::stream)
        .map(plan -> plan.policy().name())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The methods, of those that are planned by now, of whose rules none counts by another. */
  public List<String> countedByChoice() {
    return plans.values().stream()
        .flatMap(Optional::stream)
        .filter(plan -> !plan.quotas().isEmpty())
        .filter(plan -> plan.quotas().stream().allMatch(quota -> quota.source().isChosen()))
        .map(LimitPlan::method)
        .sorted()
        .toList();
  }

  /** Names for a message, of many the first. */
  public static String listed(List<String> names) {
    return String.join(", ", names.subList(0, Math.min(names.size(), MAX_LISTED)))
        + (names.size() > MAX_LISTED ? ", …" : "");
  }

  /** What the default of {@code @Duplicate} chose for methods that are planned by now. */
  public List<String> duplicatesByDefault() {
    return plans.values().stream()
        .flatMap(Optional::stream)
        .flatMap(
            plan ->
                plan.duplicates().flatMap(DuplicateGuard::chosen).stream()
                    .map(chosen -> plan.method() + ": " + chosen))
        .sorted()
        .toList();
  }

  /** The methods, of those that are planned by now, some of whose rules count the user. */
  public List<String> countingUsers() {
    return plans.values().stream()
        .flatMap(Optional::stream)
        .filter(LimitPlan::countsUsers)
        .map(LimitPlan::method)
        .sorted()
        .toList();
  }

  /** One plan for all objects that stand for one method: gate and guard may hold different ones. */
  private Optional<LimitPlan> find(ExecutableMethod<?, ?> method) {
    Optional<LimitPlan> plan =
        method.hasStereotype(Limited.class)
            ? plans.computeIfAbsent(Limits.of(source, method), any -> build(method))
            : Optional.empty();
    for (Object unused = gone.poll(); unused != null; unused = gone.poll()) {
      known.remove(unused);
    }
    known.put(new Known(method, gone), plan);
    return plan;
  }

  private Optional<LimitPlan> build(ExecutableMethod<?, ?> method) {
    Optional<LimitPlan> plan = source.plan(method);
    plan.ifPresent(shared::register);
    return plan;
  }

  /** Where {@link LimitPlans} come from. */
  @Internal
  public interface Source {

    /**
     * The plan of a method; empty if nothing limits it.
     *
     * @throws io.micronaut.context.exceptions.ConfigurationException if its limits make no sense
     */
    Optional<LimitPlan> plan(ExecutableMethod<?, ?> method);

    /**
     * What limits a method, equal for two objects that stand for one method with the same limits.
     */
    List<String> limits(ExecutableMethod<?, ?> method);
  }
}
