// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.exception.CallerBannedException;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.exception.LimiterUnavailableException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.context.BeanContext;
import io.micronaut.context.MessageSource;
import io.micronaut.context.StaticMessageSource;
import io.micronaut.context.exceptions.BeanContextException;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.core.util.PathMatcher;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.filter.FilterContinuation;
import io.micronaut.http.filter.FilterPatternStyle;
import io.micronaut.http.filter.HttpFilter;
import io.micronaut.http.server.HttpServerConfiguration;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.http.server.exceptions.response.JsonErrorResponseBodyProvider;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.qualifiers.Qualifiers;
import io.micronaut.scheduling.executor.ThreadSelection;
import io.micronaut.web.router.ErrorRoute;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteBuilder;
import io.micronaut.web.router.RouteInfo;
import jakarta.inject.Singleton;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Responds to denied requests in the gate, without an exception that passes through the server: in
 * a flood of denials that costs more than all the rest. An application that could see the
 * difference receives the exception: one that has an {@code @Error} method or a handler of its own
 * for it, logs handled exceptions, or chooses the threads of handlers.
 */
@Singleton
final class DirectDenials {

  private static final long MILLIS = 1_000;

  private final BeanContext beans;
  private final HttpServerConfiguration server;
  private final LimitDeniedHandler handler;
  private final Optional<MessageBodyHandlerRegistry> writers;

  // What the application does itself with denied requests: known once the server runs, since its
  // routes are complete then. Two threads may look at once, and both write the same, before the
  // flag; so the collections are immutable.
  private volatile boolean knowsApplication;
  private Set<Class<?>> ours = Set.of();
  private List<ErrorRoute> errors = List.of();
  private boolean makesParts;
  private List<ResponseFilters> filters = List.of();

  private volatile long dateSecond;
  private volatile String dateText = "";

  DirectDenials(
      BeanContext beans,
      HttpServerConfiguration server,
      LimitDeniedHandler handler,
      Optional<MessageBodyHandlerRegistry> writers) {
    this.beans = beans;
    this.server = server;
    this.handler = handler;
    this.writers = writers;
  }

  /** The response to this request; empty if the application is to receive the exception. */
  Optional<MutableHttpResponse<?>> respond(
      HttpRequest<?> request, LimitDeniedException denied, LimitPlan plan) {
    if (!knowsApplication) {
      lookAtApplication();
    }
    if (applicationWants(denied, request)) {
      return Optional.empty();
    }
    MutableHttpResponse<?> response =
        applicationSees(request)
            ? handler.handle(request, denied)
            : kinds(plan).respond(request, denied);
    RouteAttributes.setException(response, denied);
    writeServerFields(response.getHeaders());
    return Optional.of(response);
  }

  /** The kinds of denials of a plan, which are forgotten with it. */
  EncodedDenials kinds(LimitPlan plan) {
    return plan.derived(EncodedDenials.class, () -> new EncodedDenials(handler, writers));
  }

  /** As the server writes them into each response of a route or a handler. */
  private void writeServerFields(MutableHttpHeaders headers) {
    if (server.isDateHeader() && !headers.contains(HttpHeaders.DATE)) {
      writeDate(headers);
    }
    if (!headers.contains(HttpHeaders.SERVER)) {
      Optional<String> name = server.getServerHeader();
      if (name.isPresent()) {
        headers.add(HttpHeaders.SERVER, name.get());
      }
    }
  }

  /** The text of a second is formatted once. */
  private void writeDate(MutableHttpHeaders headers) {
    long second = System.currentTimeMillis() / MILLIS;
    if (second == dateSecond) {
      headers.set(HttpHeaders.DATE, dateText); // or that of a later second, which has begun then
      return;
    }
    headers.date(LocalDateTime.now(ZoneId.systemDefault()));
    String text = headers.get(HttpHeaders.DATE);
    if (text != null && second == System.currentTimeMillis() / MILLIS) {
      keepDate(second, text);
    }
  }

  private synchronized void keepDate(long second, String text) {
    if (second > dateSecond) {
      dateText = text;
      dateSecond = second;
    }
  }

  private void lookAtApplication() {
    boolean receivesAll =
        server.isLogHandledExceptions() || server.getThreadSelection() != ThreadSelection.MANUAL;
    ours =
        receivesAll
            ? Set.of()
            : Stream.of(
                    RateLimitExceededException.class,
                    CallerBannedException.class,
                    DuplicateSubmissionException.class,
                    LimiterUnavailableException.class)
                .filter(this::isHandledByUs)
                .collect(Collectors.toUnmodifiableSet());
    errors =
        beans.getBeansOfType(RouteBuilder.class).stream()
            .flatMap(routes -> routes.getErrorRoutes().stream())
            .toList();
    makesParts =
        !handler.isKnown()
            || !areAll(JsonErrorResponseBodyProvider.class, DirectDenials::isUsual)
            || !areAll(MessageSource.class, DirectDenials::isConstant);
    filters = List.copyOf(ResponseFilters.of(beans, server));
    knowsApplication = true;
  }

  private boolean areAll(Class<?> type, Predicate<Object> are) {
    return beans.getBeansOfType(type).stream().allMatch(are);
  }

  private static boolean isUsual(Object errorBodies) {
    return errorBodies
        .getClass()
        .getPackageName()
        .equals(JsonErrorResponseBodyProvider.class.getPackageName());
  }

  /** Messages of others may change at any time. */
  private static boolean isConstant(Object messages) {
    return messages.getClass() != StaticMessageSource.class
        && (isOf(messages.getClass(), "io.micronaut.")
            || isOf(messages.getClass(), "io.limiter.micronaut."));
  }

  /** The handler as the server finds it. */
  private boolean isHandledByUs(Class<?> denied) {
    try {
      return beans
          .findBeanDefinition(
              ExceptionHandler.class, Qualifiers.byTypeArgumentsClosest(denied, Object.class))
          .map(beans::getBean)
          .filter(handling -> handling.getClass() == LimitDeniedHandler.class)
          .isPresent();
    } catch (BeanContextException undecided) { // such as two handlers: the server reports them
      return false;
    }
  }

  /** Whether the application is to receive the exception. */
  private boolean applicationWants(LimitDeniedException denied, HttpRequest<?> request) {
    if (!ours.contains(denied.getClass())) {
      return true;
    }
    for (ErrorRoute error : errors) {
      if (error.exceptionType().isInstance(denied) && isFor(error, request)) {
        return true;
      }
    }
    return false;
  }

  /** A method of one controller is for its routes alone. */
  private static boolean isFor(ErrorRoute error, HttpRequest<?> request) {
    Class<?> controller = error.originatingType();
    return controller == null
        || RouteAttributes.getRouteInfo(request)
            .map(RouteInfo::getDeclaringType)
            .filter(type -> controller.isAssignableFrom(type) || type.isAssignableFrom(controller))
            .isPresent();
  }

  /**
   * Whether the application has a part in the response to a request: makes a part of its body, or
   * has a filter that receives it, and so may look at the object that is its body.
   */
  private boolean applicationSees(HttpRequest<?> request) {
    if (makesParts) {
      return true;
    }
    for (ResponseFilters filter : filters) {
      if (filter.receive(request)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isOf(Class<?> type, String packages) {
    return type.getName().startsWith(packages);
  }

  /**
   * Filters of the application that receive responses.
   *
   * @param patterns of the paths for whose requests they do; none for all
   */
  private record ResponseFilters(List<String> patterns) {

    /** Packages of Micronaut whose filters do not look at bodies, unlike those of its views. */
    private static final List<String> HEADERS_ONLY =
        List.of(
            "io.micronaut.http.",
            "io.micronaut.web.router.",
            "io.micronaut.security.",
            "io.micronaut.session.",
            "io.micronaut.tracing.",
            "io.micronaut.configuration.metrics.",
            "io.micronaut.management.",
            "io.limiter.micronaut.metrics.");

    static List<ResponseFilters> of(BeanContext beans, HttpServerConfiguration server) {
      List<ResponseFilters> all = new ArrayList<>();
      for (BeanDefinition<?> filter : beans.getBeanDefinitions(HttpFilter.class)) {
        if (isForeign(filter)) {
          all.add(new ResponseFilters(List.of()));
        }
      }
      for (BeanDefinition<?> filter :
          beans.getBeanDefinitions(Qualifiers.byStereotype(ServerFilter.class))) {
        if (isForeign(filter) && hasOrder(filter) && receives(filter)) {
          boolean bare = server.getContextPath() == null;
          boolean ant =
              filter
                  .enumValue(ServerFilter.class, "patternStyle", FilterPatternStyle.class)
                  .filter(style -> style != FilterPatternStyle.ANT)
                  .isEmpty();
          all.add(
              new ResponseFilters(
                  bare && ant ? List.of(filter.stringValues(ServerFilter.class)) : List.of()));
        }
      }
      return all;
    }

    private static boolean isForeign(BeanDefinition<?> filter) {
      return filter.getBeanType() != LimitedResponseFilter.class
          && HEADERS_ONLY.stream().noneMatch(packages -> isOf(filter.getBeanType(), packages));
    }

    private static boolean receives(BeanDefinition<?> filter) {
      return filter.getExecutableMethods().stream()
          .anyMatch(
              method ->
                  method.hasAnnotation(ResponseFilter.class)
                      || Stream.of(method.getArgumentTypes())
                          .anyMatch(FilterContinuation.class::equals));
    }

    /** One without an order runs last, and does not receive what the gate responds. */
    private static boolean hasOrder(BeanDefinition<?> filter) {
      return filter.hasAnnotation(Order.class)
          || Ordered.class.isAssignableFrom(filter.getBeanType())
          || filter.getExecutableMethods().stream()
              .anyMatch(method -> method.hasAnnotation(Order.class));
    }

    boolean receive(HttpRequest<?> request) {
      for (String pattern : patterns) {
        if (mayMatch(pattern, request.getPath())
            && PathMatcher.ANT.matches(pattern, request.getPath())) {
          return true;
        }
      }
      return patterns.isEmpty();
    }

    /** Most paths have not even the last part of a pattern, and need not be cut into parts. */
    private static boolean mayMatch(String pattern, String path) {
      String last = pattern.substring(pattern.lastIndexOf('/') + 1);
      return last.indexOf('*') >= 0 || last.indexOf('?') >= 0 || path.contains(last);
    }
  }
}
