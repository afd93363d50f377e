// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.PolicyDefinition;
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
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.DelegatingExecutableMethod;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.inject.ProxyBeanDefinition;
import io.micronaut.inject.proxy.InterceptedBean;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteMatch;
import io.micronaut.web.router.Router;
import io.micronaut.web.router.resource.StaticResourceConfiguration;
import jakarta.inject.Singleton;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * Finds the plans of limited methods. Methods of beans are planned when the context starts, so that
 * a mistake in an annotation stops the start; those of beans that a factory makes are planned when
 * they are first called.
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
  private volatile PlanGeneration current;

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
    this.current = new PlanGeneration(source, policies.current());
  }

  /** Raw: the parameters of this method are generic in other ways in Micronaut 4 and 5. */
  @Override
  @SuppressWarnings({"rawtypes", "unchecked"})
  public void process(BeanDefinition bean, ExecutableMethod method) {
    // Micronaut 5 also passes those, with expressions that only a call can evaluate, and the
    // method of the factory, whose limit is that of the bean's methods.
    if (!makesBean(bean, method)
        && withTarget(bean).stream().noneMatch(PlanRegistry::isMadeByFactory)) {
      ExecutableMethod<?, ?> limited = method;
      Class<?> type = bean.getBeanType();
      var unused = current.of(limited, () -> written(type));
    }
  }

  private static boolean makesBean(BeanDefinition<?> factory, ExecutableMethod<?, ?> method) {
    return factory.hasStereotype(Factory.class)
        && (method.hasDeclaredStereotype(Bean.class)
            || method.hasDeclaredStereotype(AnnotationUtil.SCOPE));
  }

  private static boolean isMadeByFactory(BeanDefinition<?> bean) {
    return bean.getDeclaringType().filter(type -> type != bean.getBeanType()).isPresent();
  }

  /** The plans by the settings in use. */
  public PlanGeneration current() {
    return current;
  }

  /** The plan of a method; empty if it is not limited. */
  public Optional<LimitPlan> of(ExecutableMethod<?, ?> method) {
    return of(method, method);
  }

  /**
   * @param target the bean, or anything else if it is not known
   */
  private Optional<LimitPlan> of(ExecutableMethod<?, ?> method, Object target) {
    return current.of(method, () -> beanOf(method, target));
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
  public static ExecutableMethod<?, ?> unnamed(ExecutableMethod<?, ?> method) {
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
   * @param check rejects settings of what does not exist. It returns what uses the settings once
   *     the new plans are in use
   * @throws io.micronaut.context.exceptions.ConfigurationException if the settings are invalid;
   *     then nothing changes
   */
  public synchronized void replan(
      LimitSettings settings, Function<PlanGeneration, Runnable> check) {
    PlanGeneration next = new PlanGeneration(source, settings);
    next.planMethodsOf(current);
    Runnable use = check.apply(next);
    next.limitRoutes(contextPath, () -> methodPaths(next));
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
    PlanGeneration generation = current;
    RouteMatch<?> match = RouteAttributes.getRouteMatch(request).orElse(null);
    Optional<LimitPlan> plan = Optional.empty();
    if (match instanceof MethodExecutionHandle<?, ?> handle) {
      ExecutableMethod<?, ?> method = handle.getExecutableMethod();
      plan = of(method);
      if (plan.isPresent() && isOfWebSocket(method)) {
        plan = Optional.empty();
      }
    }
    plan = generation.ofPath(request, plan);
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
    PlanGeneration generation = current;
    generation.limitRoutes(contextPath, () -> methodPaths(generation));
  }

  /**
   * The configured routes and exceptions that meet no route of the application and no static file,
   * in words.
   */
  public List<String> unmatchedRoutes() {
    Map<String, Set<String>> paths = new HashMap<>();
    router
        .get()
        .uriRoutes()
        .forEach(
            route ->
                paths
                    .computeIfAbsent(RouteLimits.LimitedPath.pattern(route), any -> new HashSet<>())
                    .add(route.getHttpMethodName()));
    beans
        .getBeansOfType(StaticResourceConfiguration.class)
        .forEach(files -> paths.put(files.getMapping(), Set.of()));
    return current.unmatchedRoutes(paths, contextPath);
  }

  /** The paths of the methods that are limited by annotations. */
  private List<RouteLimits.LimitedPath> methodPaths(PlanGeneration generation) {
    return router
        .get()
        .uriRoutes()
        .flatMap(
            route ->
                generation
                    .of(
                        route.getTargetMethod().getExecutableMethod(),
                        () -> written(route.getTargetMethod().getDeclaringType()))
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
  public void planAll(PlanGeneration generation) {
    plan(generation, beans.getAllBeanDefinitions());
  }

  /** Plans the methods of beans which have an {@code @Executable} that hides ours at the start. */
  public void planExceptionHandlers() {
    plan(current, beans.getBeanDefinitions(ExceptionHandler.class));
  }

  private void plan(PlanGeneration generation, Collection<? extends BeanDefinition<?>> some) {
    for (BeanDefinition<?> bean : some) {
      for (BeanDefinition<?> definition : withTarget(bean)) {
        definition.getExecutableMethods().stream()
            .filter(method -> method.hasStereotype(Limited.class))
            .forEach(method -> generation.of(method, () -> written(bean.getBeanType())));
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

  /** Names for a message, of many the first. */
  public static String listed(List<String> names) {
    return String.join(", ", names.subList(0, Math.min(names.size(), MAX_LISTED)))
        + (names.size() > MAX_LISTED ? ", …" : "");
  }

  /** Makes the guard use the part of the plan by which the gate has decided this request. */
  public static void decideBy(LimitPlan part, HttpRequest<?> request) {
    request.setAttribute(ROUTE, part);
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
