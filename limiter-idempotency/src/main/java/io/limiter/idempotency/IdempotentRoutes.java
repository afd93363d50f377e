// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.idempotency.IdempotencyConfiguration.RouteSettings;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.definition.HeadArguments;
import io.limiter.micronaut.definition.ResultKind;
import io.limiter.micronaut.plan.NamedBeans;
import io.limiter.micronaut.plan.NamedBeans.BeanRef;
import io.limiter.micronaut.plan.PathIndex;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.context.processor.ExecutableMethodProcessor;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.expressions.EvaluatedExpression;
import io.micronaut.core.order.Ordered;
import io.micronaut.core.reflect.ClassUtils;
import io.micronaut.core.util.StringUtils;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.context.ServerContextPathProvider;
import io.micronaut.http.filter.HttpServerFilter;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.qualifiers.Qualifiers;
import io.micronaut.web.router.MethodBasedRouteMatch;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteMatch;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds what holds for the keys of a route: by its annotation, else by the settings of its path.
 * Annotations are read when the context starts, so that a mistake in one stops it.
 */
@Singleton
final class IdempotentRoutes
    implements ExecutableMethodProcessor<Idempotent>, ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(IdempotentRoutes.class);

  private static final Set<Integer> RELEASED = Set.of(401, 403, 408, 409, 425, 429);

  private static final int MIN_STATUS = 400;
  private static final int MAX_STATUS = 499;

  /** An attribute of a request: its {@link Terms}, or {@link #NONE}. */
  private static final String TERMS = "io.limiter.idempotency.terms";

  private static final Object NONE = false;

  // By name: both modules are optional.
  private static final String SECURITY = "io.micronaut.security.filters.SecurityFilter";

  private static final String SECURED = "io.micronaut.security.annotation.Secured";

  private final BeanContext beans;
  private final PlanRegistry plans;
  private final NamedBeans named;
  private final boolean anonymousByAddress;
  private final List<ByPath> byPath;
  private final PathIndex<ByPath> paths;

  /** As many as there are annotated methods. */
  private final Map<ExecutableMethod<?, ?>, Terms> annotated = new ConcurrentHashMap<>();

  IdempotentRoutes(
      BeanContext beans,
      PlanRegistry plans,
      NamedBeans named,
      IdempotencyConfiguration settings,
      Optional<ServerContextPathProvider> server) {
    this.beans = beans;
    this.plans = plans;
    this.named = named;
    this.anonymousByAddress = settings.anonymousByAddress();
    String contextPath =
        server
            .map(ServerContextPathProvider::getContextPath)
            .map(path -> StringUtils.prependUri("/", path))
            .map(path -> path.endsWith("/") ? path.substring(0, path.length() - 1) : path)
            .orElse("");
    this.byPath = settings.routes().stream().map(route -> byPath(route, contextPath)).toList();
    this.paths = new PathIndex<>(byPath);
  }

  private record ByPath(List<String> patterns, Set<String> methods, Terms terms)
      implements PathIndex.OnPath {}

  /** Raw: the parameters of this method are generic in other ways in Micronaut 4 and 5. */
  @Override
  @SuppressWarnings({"rawtypes", "unchecked"})
  public void process(BeanDefinition bean, ExecutableMethod method) {
    ExecutableMethod<?, ?> annotatedMethod = method;
    boolean isRoute = annotatedMethod.hasStereotype(HttpMethodMapping.class);
    if (!isRoute
        && annotatedMethod.hasDeclaredAnnotation(Idempotent.class)
        && !bean.hasDeclaredAnnotation(Idempotent.class)) {
      throw mistake(
          annotatedMethod,
          "it is no route: for other code there is " + IdempotentCalls.class.getName());
    }
    if (isRoute) {
      annotated.put(PlanRegistry.unnamed(annotatedMethod), read(annotatedMethod));
    }
  }

  private Terms read(ExecutableMethod<?, ?> method) {
    AnnotationValue<Idempotent> written = method.getAnnotation(Idempotent.class);
    if (written == null) {
      throw new IllegalStateException(method + " is processed without its annotation");
    }
    String retain = written.stringValue("retain").orElse("24h");
    boolean repeats = !retain.isEmpty();
    Terms terms =
        new Terms(
            description(method),
            repeats
                ? time(method, "retain", retain, Terms.MIN_RETAIN, Terms.MAX_RETAIN)
                : Terms.RETAIN,
            repeats,
            time(
                method,
                "claim",
                written.stringValue("claim").orElse("30s"),
                Terms.MIN_CLAIM,
                Terms.MAX_CLAIM),
            time(
                method,
                "maxWait",
                written.stringValue("maxWait").orElse("2s"),
                Duration.ZERO,
                Terms.LONGEST_WAIT),
            statuses(method, written.intValues("releaseOn")),
            written.booleanValue("required").orElse(true),
            written.booleanValue("chargeRepetitions").orElse(false),
            owner(method, written),
            true);
    requireResult(method, repeats);
    return terms;
  }

  private static Duration time(
      ExecutableMethod<?, ?> method, String member, String text, Duration least, Duration most) {
    Duration time =
        ConversionService.SHARED
            .convert(text, Duration.class)
            .orElseThrow(
                () ->
                    mistake(
                        method, member + " = \"" + text + "\" is no time: write one such as 30s"));
    if (time.compareTo(least) < 0 || time.compareTo(most) > 0) {
      throw mistake(
          method,
          "%s = \"%s\": use %s s to %s s"
              .formatted(member, text, least.toSeconds(), most.toSeconds()));
    }
    return time;
  }

  private static Set<Integer> statuses(ExecutableMethod<?, ?> method, int[] written) {
    for (int status : written) {
      if (status < MIN_STATUS || status > MAX_STATUS) {
        throw mistake(
            method,
            "releaseOn has %s: name statuses from %s to %s; a response of 500 and above always frees the key"
                .formatted(status, MIN_STATUS, MAX_STATUS));
      }
    }
    return written.length == 0
        ? RELEASED
        : Arrays.stream(written).boxed().collect(Collectors.toUnmodifiableSet());
  }

  private SubjectSource owner(ExecutableMethod<?, ?> method, AnnotationValue<Idempotent> written) {
    String header = written.stringValue("header").orElse("");
    Optional<SubjectSource> resolver =
        resolver(written.classValue("resolver").orElse(SubjectResolver.class));
    Object subject = // not evaluated, for which there must be a call
        written.getValues().entrySet().stream()
            .filter(member -> "subject".contentEquals(member.getKey()))
            .map(Map.Entry::getValue)
            .findFirst()
            .orElse("");
    String text = subject.toString();
    if ((header.isEmpty() ? 0 : 1) + resolver.stream().count() + (text.isEmpty() ? 0 : 1) > 1) {
      throw mistake(
          method, "header, resolver and subject each name the owner of a key: keep one of them");
    }
    if (!header.isEmpty() && !header.matches(Terms.FIELD_NAME)) {
      throw mistake(
          method,
          "header = \"%s\" is no name of a field: write one such as X-Api-Key".formatted(header));
    }
    if (text.isEmpty()) {
      return resolver.orElseGet(() -> owner(header));
    }
    Optional<Set<Integer>> head = HeadArguments.of(method, text);
    if (!(subject instanceof EvaluatedExpression) || head.isEmpty()) {
      throw mistake(
          method,
          "subject = \"%s\": write an expression over arguments of the path, the query, header fields or cookies that are texts, numbers or the like, such as #{account}"
              .formatted(text));
    }
    String where = description(method) + ": @Idempotent";
    return new SubjectSource.Expression(
        new CallExpression(where, text, written, "subject", head), 0);
  }

  private SubjectSource owner(String header) {
    return header.isEmpty()
        ? new SubjectSource.User(anonymousByAddress ? Anonymous.ADDRESS : Anonymous.REJECT)
        : new SubjectSource.Header(header.toLowerCase(Locale.ROOT), false, Anonymous.REJECT);
  }

  @SuppressWarnings("unchecked") // the annotation has no other
  private Optional<SubjectSource> resolver(Class<?> written) {
    if (written == SubjectResolver.class) {
      return Optional.empty();
    }
    Class<? extends SubjectResolver> type = (Class<? extends SubjectResolver>) written;
    if (!beans.containsBean(type)) {
      throw new ConfigurationException(
          "@Idempotent(resolver = %s): there is no such bean: annotate the class with @Singleton"
              .formatted(type.getName()));
    }
    return Optional.of(
        new SubjectSource.Resolver(type, Anonymous.REJECT, () -> beans.getBean(type)));
  }

  private static void requireResult(ExecutableMethod<?, ?> method, boolean repeats) {
    ResultKind.Type type = new ResultKind.OfArgument(method.getReturnType().asArgument());
    switch (ResultKind.of(type, method.getAnnotationMetadata())) {
      case VALUE, RESPONSES, UNKNOWN -> {}
      case STREAM ->
          throw mistake(
              method,
              "it returns %s, a stream: return its items together, such as in a Mono<List<…>>"
                  .formatted(type.description()));
      case WRITTEN_LATER -> {
        if (repeats) {
          throw mistake(
              method,
              "it returns %s, which is produced while it is written and cannot be kept: return a value, or do without repeated responses, by retain = \"\""
                  .formatted(type.description()));
        }
      }
      case HIDDEN, OF_ITS_CLASS ->
          throw mistake(
              method,
              "it returns %s, which does not show when the method ends: return a CompletionStage, a Mono or a value"
                  .formatted(type.description()));
    }
  }

  private static ConfigurationException mistake(ExecutableMethod<?, ?> method, String why) {
    return new ConfigurationException("@Idempotent on %s: %s".formatted(description(method), why));
  }

  private static String description(ExecutableMethod<?, ?> method) {
    return Arrays.stream(method.getArgumentTypes())
        .map(Class::getSimpleName)
        .collect(
            Collectors.joining(
                ",",
                method.getDeclaringType().getName() + '.' + method.getMethodName() + '(',
                ")"));
  }

  private ByPath byPath(RouteSettings route, String contextPath) {
    return new ByPath(
        PathIndex.patterns(route.path(), contextPath),
        route.methods(),
        new Terms(
            route.path(),
            route.retain() == null ? Terms.RETAIN : route.retain(),
            route.retain() != null,
            route.claim(),
            route.maxWait(),
            Set.of(),
            route.required(),
            route.chargeRepetitions(),
            route
                .resolver()
                .map(name -> named(route, name))
                .orElseGet(() -> owner(route.header().orElse(""))),
            false));
  }

  private SubjectSource named(RouteSettings route, String name) {
    BeanRef<SubjectResolver> bean =
        named
            .named(SubjectResolver.class, name)
            .orElseThrow(
                () ->
                    new ConfigurationException(
                        "%s.routes, the route with path = %s: resolver = %s: no bean of type %s has this name: annotate one with @Named(\"%s\")"
                            .formatted(
                                IdempotencyConfiguration.PREFIX,
                                route.path(),
                                name,
                                SubjectResolver.class.getName(),
                                name)));
    return new SubjectSource.Resolver(bean.type(), Anonymous.REJECT, bean.object());
  }

  /** What holds for the keys of a request; null if they mean nothing. Looked up once for each. */
  @Nullable Terms of(HttpRequest<?> request) {
    Object known = request.getAttribute(TERMS).orElse(null);
    if (known == null) {
      Terms found = find(request);
      known = found == null ? NONE : found;
      request.setAttribute(TERMS, known);
    }
    return known instanceof Terms terms ? terms : null;
  }

  private @Nullable Terms find(HttpRequest<?> request) {
    if (annotated.isEmpty() && byPath.isEmpty()) {
      return null;
    }
    // A path of the settings need have no route: a filter may answer, as a proxy does.
    RouteMatch<?> route = RouteAttributes.getRouteMatch(request).orElse(null);
    if (route instanceof MethodBasedRouteMatch<?, ?> method) {
      Terms terms = annotated.get(PlanRegistry.unnamed(method.getExecutableMethod()));
      if (terms != null) {
        return terms;
      }
    }
    return byPath(request);
  }

  /** What the settings of its path state; null if there are none. */
  @Nullable Terms byPath(HttpRequest<?> request) {
    if (byPath.isEmpty()) {
      return null;
    }
    List<ByPath> found = paths.on(request.getMethodName(), request.getPath());
    return found.isEmpty() ? null : found.get(0).terms();
  }

  /** What holds for the keys of a route; empty if there is none of this name, as in meters. */
  Optional<Terms> named(String scope) {
    return Stream.concat(annotated.values().stream(), byPath.stream().map(ByPath::terms))
        .filter(terms -> terms.scope().equals(scope))
        .findFirst();
  }

  /** Whether a request, or one that it was made from, has come through the filters. */
  static boolean knows(HttpRequest<?> request) {
    return request.getAttribute(TERMS).isPresent();
  }

  /**
   * The failure of a request that has lost its attributes: neither its key nor its body is known.
   */
  static IllegalStateException replaced() {
    return new IllegalStateException(
        "A filter has replaced a request with an Idempotency-Key by one without its attributes, so the route does not run: pass on request.mutate() in that filter");
  }

  /** What holds for a method that is called; null if it is no annotated route. */
  @Nullable Terms of(ExecutableMethod<?, ?> method) {
    return annotated.get(PlanRegistry.unnamed(method));
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    // Here, since it draws random numbers: a first request would on its event loop.
    var unused = beans.getBean(IdempotencyFilter.class);
    requireGate();
    warnOfAnonymous();
    warnOfFilters();
  }

  private void requireGate() {
    annotated.forEach(
        (method, terms) -> {
          if (terms.limitsFirst()
              && plans.of(method).filter(plan -> plan.gatePart() != plan).isPresent()) {
            throw mistake(
                method,
                "chargeRepetitions needs limits that the gate decides, but a limit of the method needs its arguments: remove chargeRepetitions, or count by the request alone");
          }
        });
  }

  /** Of routes whose callers may have no user: their keys would have no owner. */
  private void warnOfAnonymous() {
    if (anonymousByAddress) {
      return;
    }
    boolean secured = ClassUtils.isPresent(SECURITY, IdempotentRoutes.class.getClassLoader());
    Set<String> routes =
        Stream.concat(
                annotated.entrySet().stream()
                    .filter(route -> !secured || isOpen(route.getKey()))
                    .map(Map.Entry::getValue),
                byPath.stream().map(ByPath::terms).filter(terms -> !secured))
            .filter(terms -> terms.owner().kind() == SubjectSource.Kind.USER)
            .map(Terms::scope)
            .collect(Collectors.toCollection(TreeSet::new));
    if (!routes.isEmpty()) {
      LOG.warn(
          "{}, so each Idempotency-Key of a request without one is answered 400: {}. Name the owner of keys by a header or a resolver, or set {}.anonymous-by-address: true, so that callers behind one address share their keys",
          secured
              ? "Routes are open to callers without a user"
              : "Without micronaut-security no request has a user",
          PlanRegistry.listed(List.copyOf(routes)),
          IdempotencyConfiguration.PREFIX);
    }
  }

  private static boolean isOpen(ExecutableMethod<?, ?> method) {
    return List.of(method.stringValues(SECURED)).contains("isAnonymous()");
  }

  /** Filters that are as far outside as the one that stores responses: the order is not defined. */
  private void warnOfFilters() {
    if (annotated.isEmpty() && byPath.isEmpty()) {
      return;
    }
    Set<String> filters =
        Stream.<BeanDefinition<?>>concat(
                beans.getBeanDefinitions(Qualifiers.byStereotype(ServerFilter.class)).stream(),
                beans.getBeanDefinitions(HttpServerFilter.class).stream())
            .filter(filter -> !filter.getBeanType().getName().startsWith("io.micronaut."))
            .filter(filter -> !filter.getBeanType().getName().startsWith("io.limiter.micronaut."))
            .filter(filter -> filter.getBeanType() != IdempotencyFilter.class)
            .filter(this::isOutermost)
            .map(filter -> filter.getBeanType().getName())
            .collect(Collectors.toCollection(TreeSet::new));
    if (!filters.isEmpty()) {
      LOG.warn(
          "Filters with the order {} may change responses after they were kept for an Idempotency-Key, and repeated ones again: {}. Give them a higher order",
          Ordered.HIGHEST_PRECEDENCE,
          PlanRegistry.listed(List.copyOf(filters)));
    }
  }

  private boolean isOutermost(BeanDefinition<?> filter) {
    if (HttpServerFilter.class.isAssignableFrom(filter.getBeanType())) {
      try {
        return ((Ordered) beans.getBean(filter)).getOrder() == Ordered.HIGHEST_PRECEDENCE;
      } catch (RuntimeException unknown) { // such as a filter of a scope that is not there yet
        return false;
      }
    }
    return filter.getExecutableMethods().stream()
        .filter(method -> method.hasAnnotation(ResponseFilter.class))
        .anyMatch(method -> method.intValue(Order.class).orElse(0) == Ordered.HIGHEST_PRECEDENCE);
  }
}
