// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.exception.CallerBannedException;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.exception.LimiterUnavailableException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.micronaut.context.BeanContext;
import io.micronaut.context.exceptions.BeanContextException;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.server.HttpServerConfiguration;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.inject.qualifiers.Qualifiers;
import io.micronaut.scheduling.executor.ThreadSelection;
import io.micronaut.web.router.ErrorRoute;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteBuilder;
import io.micronaut.web.router.RouteInfo;
import jakarta.inject.Singleton;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Responds to denied requests in the gate, without an exception that passes through the server: in
 * a flood of denials that costs more than all the rest. An application that could see the
 * difference receives the exception: one that has an {@code @Error} method or a handler of its own
 * for it, logs handled exceptions, or chooses the threads of handlers.
 */
@Singleton
final class DirectDenials {

  private final BeanContext beans;
  private final HttpServerConfiguration server;
  private final DenialResponseFactory responses;
  private volatile @Nullable Application application;

  DirectDenials(
      BeanContext beans, HttpServerConfiguration server, DenialResponseFactory responses) {
    this.beans = beans;
    this.server = server;
    this.responses = responses;
  }

  /**
   * The same with another factory. The handlers of the application are looked up now: that needs
   * beans.
   */
  DirectDenials with(DenialResponseFactory other) {
    DirectDenials same = new DirectDenials(beans, server, other);
    same.application = application();
    return same;
  }

  /** The response to this request; empty if the application is to receive the exception. */
  Optional<MutableHttpResponse<?>> respond(HttpRequest<?> request, LimitDeniedException denied) {
    if (application().wants(denied, request)) {
      return Optional.empty();
    }
    MutableHttpResponse<?> response = responses.respond(request, denied);
    RouteAttributes.setException(response, denied);
    writeServerFields(response.getHeaders());
    return Optional.of(response);
  }

  /** As the server writes them into each response of a route or a handler. */
  private void writeServerFields(MutableHttpHeaders headers) {
    if (server.isDateHeader() && !headers.contains(HttpHeaders.DATE)) {
      headers.date(LocalDateTime.now(ZoneId.systemDefault()));
    }
    if (!headers.contains(HttpHeaders.SERVER)) {
      Optional<String> name = server.getServerHeader();
      if (name.isPresent()) {
        headers.add(HttpHeaders.SERVER, name.get());
      }
    }
  }

  /** Known once the server runs: its routes are complete then. */
  private Application application() {
    Application known = application;
    if (known == null) {
      known = new Application(beans, server);
      application = known;
    }
    return known;
  }

  /** What an application does itself with denied requests. */
  private static final class Application {

    private final boolean sees;
    private final Set<Class<?>> ours;
    private final List<ErrorRoute> errors;

    Application(BeanContext beans, HttpServerConfiguration server) {
      this.sees =
          server.isLogHandledExceptions() || server.getThreadSelection() != ThreadSelection.MANUAL;
      this.ours =
          Stream.of(
                  RateLimitExceededException.class,
                  CallerBannedException.class,
                  DuplicateSubmissionException.class,
                  LimiterUnavailableException.class)
              .filter(type -> handledByUs(beans, type))
              .collect(Collectors.toSet());
      this.errors =
          beans.getBeansOfType(RouteBuilder.class).stream()
              .flatMap(routes -> routes.getErrorRoutes().stream())
              .toList();
    }

    /** The handler as the server finds it. */
    private static boolean handledByUs(BeanContext beans, Class<?> denied) {
      try {
        return beans
            .findBeanDefinition(
                ExceptionHandler.class, Qualifiers.byTypeArgumentsClosest(denied, Object.class))
            .map(beans::getBean)
            .filter(handler -> handler.getClass() == LimitDeniedHandler.class)
            .isPresent();
      } catch (BeanContextException undecided) { // such as two handlers: the server reports them
        return false;
      }
    }

    boolean wants(LimitDeniedException denied, HttpRequest<?> request) {
      if (sees || !ours.contains(denied.getClass())) {
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
              .filter(
                  type -> controller.isAssignableFrom(type) || type.isAssignableFrom(controller))
              .isPresent();
    }
  }
}
