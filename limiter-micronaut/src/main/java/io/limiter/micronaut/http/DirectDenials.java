// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DirectBody;
import io.limiter.micronaut.denial.JsonTemplate;
import io.limiter.micronaut.denial.ServerFields;
import io.limiter.micronaut.exception.CallerBannedException;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.exception.LimiterUnavailableException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.ShutdownEvent;
import io.micronaut.context.exceptions.BeanContextException;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.core.type.Argument;
import io.micronaut.core.util.PathMatcher;
import io.micronaut.core.util.SupplierUtil;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.body.MessageBodyWriter;
import io.micronaut.http.filter.FilterContinuation;
import io.micronaut.http.filter.FilterPatternStyle;
import io.micronaut.http.filter.HttpFilter;
import io.micronaut.http.server.HttpServerConfiguration;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.qualifiers.Qualifiers;
import io.micronaut.scheduling.executor.ThreadSelection;
import io.micronaut.web.router.ErrorRoute;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteBuilder;
import io.micronaut.web.router.RouteInfo;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Responds to denied requests in the gate, without an exception that passes through the server: in
 * a flood of denials that costs more than all the rest. An application that could see the
 * difference receives the exception: one that has an {@code @Error} method or a handler of its own
 * for it, logs handled exceptions, or chooses the threads of handlers. Bodies in the formats of the
 * limiter are written as bytes, unless a filter may look at the object.
 */
@Singleton
final class DirectDenials implements DenialResponder, ApplicationEventListener<ShutdownEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(DirectDenials.class);

  private final BeanContext beans;
  private final HttpServerConfiguration server;
  private final ServerFields fields;
  private final LimitDeniedHandler handler;
  private final Optional<MessageBodyHandlerRegistry> writers;

  /** Looked up by the first denial: the routes are complete by then. */
  private final Supplier<Application> application = SupplierUtil.memoized(this::lookAtApplication);

  DirectDenials(
      BeanContext beans,
      HttpServerConfiguration server,
      ServerFields fields,
      LimitDeniedHandler handler,
      Optional<MessageBodyHandlerRegistry> writers) {
    this.beans = beans;
    this.server = server;
    this.fields = fields;
    this.handler = handler;
    this.writers = writers;
  }

  /** The last requests may be denied once the context has no beans. */
  @Override
  public void onApplicationEvent(ShutdownEvent stopping) {
    try {
      application.get().body().ifPresent(own -> own.body().lookUp());
    } catch (RuntimeException | LinkageError noHttp) {
      LOG.debug("Denials may have no body from now on", noHttp);
    }
  }

  @Override
  public Optional<MutableHttpResponse<?>> respond(
      HttpRequest<?> request, LimitDeniedException denied) {
    Application known = application.get();
    if (known.handles(denied, request)) {
      return Optional.empty();
    }
    MutableHttpResponse<?> response =
        known.receives(request) || !isForProgram(request)
            ? handler.handle(request, denied)
            : write(known.body(), handler.denial(request, denied));
    RouteAttributes.setException(response, denied);
    fields.writeTo(response.getHeaders());
    return Optional.of(response);
  }

  /** HEAD has no body, and a browser receives a page. */
  private static boolean isForProgram(HttpRequest<?> request) {
    return request.getMethod() != HttpMethod.HEAD
        && !request.accept().contains(MediaType.TEXT_HTML_TYPE);
  }

  private MutableHttpResponse<?> write(Optional<OwnBody> own, Denial denial) {
    Optional<JsonTemplate> template = own.flatMap(body -> body.body().template(denial));
    if (template.isPresent()) {
      try {
        return own.get().write(template.get(), denial);
      } catch (IllegalArgumentException noUri) {
        LOG.debug("The URI of a denied request is invalid", noUri);
      }
    }
    return handler.respond(denial);
  }

  private Application lookAtApplication() {
    boolean receivesAll =
        server.isLogHandledExceptions() || server.getThreadSelection() != ThreadSelection.MANUAL;
    return new Application(
        receivesAll
            ? Set.of()
            : Stream.of(
                    RateLimitExceededException.class,
                    CallerBannedException.class,
                    DuplicateSubmissionException.class,
                    LimiterUnavailableException.class)
                .filter(this::isHandledByUs)
                .collect(Collectors.toUnmodifiableSet()),
        beans.getBeansOfType(RouteBuilder.class).stream()
            .flatMap(routes -> routes.getErrorRoutes().stream())
            .toList(),
        ReceivingFilter.of(beans, server),
        handler.directBody().map(this::own));
  }

  private OwnBody own(DirectBody body) {
    return new OwnBody(
        body,
        writers
            .flatMap(all -> all.findWriter(Argument.of(byte[].class), List.of(body.type())))
            .orElse(null));
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

  private static boolean isOf(Class<?> type, String packages) {
    return type.getName().startsWith(packages);
  }

  /**
   * What the application does itself with denied requests.
   *
   * @param ours the exceptions for which the server has no handler of the application
   * @param errors its error routes
   * @param filters its filters that receive responses
   * @param body empty if the application makes a part of the responses
   */
  private record Application(
      Set<Class<?>> ours,
      List<ErrorRoute> errors,
      List<ReceivingFilter> filters,
      Optional<OwnBody> body) {

    /** Whether it is to receive the exception. */
    boolean handles(LimitDeniedException denied, HttpRequest<?> request) {
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
              .filter(
                  type -> controller.isAssignableFrom(type) || type.isAssignableFrom(controller))
              .isPresent();
    }

    /** Whether a filter receives the response, and so may look at the object that is its body. */
    boolean receives(HttpRequest<?> request) {
      for (ReceivingFilter filter : filters) {
        if (filter.receive(request)) {
          return true;
        }
      }
      return false;
    }
  }

  /**
   * A body that the limiter writes.
   *
   * @param writer as the server would find it for each response; null if there is none
   */
  private record OwnBody(DirectBody body, @Nullable MessageBodyWriter<byte[]> writer) {

    /**
     * Writes a response.
     *
     * @throws IllegalArgumentException if its body has the URI of the request, which is invalid
     */
    MutableHttpResponse<byte[]> write(JsonTemplate template, Denial denial) {
      byte[] bytes = template.write(denial);
      MutableHttpResponse<?> begun = LimitDeniedHandler.begun(denial);
      // Before the body, which would set its own; under the name that Micronaut's writers set.
      begun.getHeaders().set(HttpHeaders.CONTENT_TYPE, body.type());
      MutableHttpResponse<byte[]> response = begun.body(bytes);
      if (writer != null) {
        response.bodyWriter(writer);
      }
      return response;
    }
  }

  /**
   * A filter of the application that receives responses.
   *
   * @param patterns of the paths for whose requests it does; none for all
   */
  private record ReceivingFilter(String name, List<String> patterns) {

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
            "io.limiter.idempotency.",
            "io.limiter.micronaut.metrics.",
            "io.limiter.overload.");

    static List<ReceivingFilter> of(BeanContext beans, HttpServerConfiguration server) {
      List<ReceivingFilter> all = new ArrayList<>();
      for (BeanDefinition<?> filter : beans.getBeanDefinitions(HttpFilter.class)) {
        if (isForeign(filter)) {
          all.add(new ReceivingFilter(filter.getName(), List.of()));
        }
      }
      for (BeanDefinition<?> filter :
          beans.getBeanDefinitions(Qualifiers.byStereotype(ServerFilter.class))) {
        if (isForeign(filter) && mayBeOutside(filter) && receives(filter)) {
          boolean bare = server.getContextPath() == null;
          boolean ant =
              filter
                  .enumValue(ServerFilter.class, "patternStyle", FilterPatternStyle.class)
                  .filter(style -> style != FilterPatternStyle.ANT)
                  .isEmpty();
          all.add(
              new ReceivingFilter(
                  filter.getName(),
                  bare && ant ? List.of(filter.stringValues(ServerFilter.class)) : List.of()));
        }
      }
      LOG.debug("Filters for whose requests the JSON mapper writes denials: {}", all);
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

    /**
     * In Micronaut 4 one without an order is behind the gate, whose responses it does not receive.
     */
    private static boolean mayBeOutside(BeanDefinition<?> filter) {
      return GateFilter.WITHOUT_ORDER < GateFilter.ORDER
          || filter.hasAnnotation(Order.class)
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
