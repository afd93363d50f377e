// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.limiter.overload.ConcurrencyLimiter.Permit;
import io.limiter.overload.ConcurrencyLimiter.Waiting;
import io.limiter.overload.Criticality.Level;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.HttpVersion;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.context.event.HttpRequestTerminatedEvent;
import io.micronaut.http.netty.NettyHttpResponseBuilder;
import io.micronaut.http.server.cors.CorsFilter;
import io.micronaut.http.server.types.files.FileCustomizableResponseType;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.web.router.RouteAttributes;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/**
 * Counts requests in flight, from before all other filters until the response is written, and
 * rejects those that find no place. A rejected request reaches no limit, no key, no body and no
 * Redis. It runs on the event loop of the request and never waits: a request that waits for its
 * turn is a stage that is not complete.
 *
 * <p>The latency of a request is the time until its response reaches the outermost filters, so that
 * a client that reads slowly says nothing about the instance.
 */
@ServerFilter(patterns = ServerFilter.MATCH_ALL_PATTERN, appendContextPath = false)
@Requires(property = "limiter.overload.enabled", pattern = "(?i)\\s*(?:true|yes|on|y)\\s*")
final class OverloadFilter implements ApplicationEventListener<HttpRequestTerminatedEvent> {

  /** After callers that are blocked by their address are rejected. */
  static final int ORDER = Ordered.HIGHEST_PRECEDENCE + 1;

  /** The code of the answer; its message has hyphens in the place of underscores. */
  static final String CODE = "temporary_reduced_capacity";

  /** The attribute of a request: its {@link Flight}. */
  private static final String FLIGHT = "io.limiter.overload.flight";

  private static final CompletionStage<Optional<MutableHttpResponse<?>>> PROCEED =
      CompletableFuture.completedFuture(Optional.empty());

  private static final SubjectSource CALLER = new SubjectSource.Address();

  private final ConcurrencyLimiter limiter;
  private final OverloadLimiters limiters;
  private final RequestCriticality criticalities;
  private final boolean countsStreams;
  private final RequestSubjects subjects;
  private final CallerThreads threads;
  private final Rejections rejections;
  private final ConversionService conversions;
  private final @Nullable CorsFilter cors;

  OverloadFilter(
      OverloadLimiters limiters,
      OverloadConfiguration settings,
      RequestCriticality criticalities,
      RequestSubjects subjects,
      CallerThreads threads,
      Rejections rejections,
      ConversionService conversions,
      @Nullable CorsFilter cors) {
    this.limiter = limiters.http().calls();
    this.limiters = limiters;
    this.criticalities = criticalities;
    this.countsStreams = settings.streams();
    this.subjects = subjects;
    this.threads = threads;
    this.rejections = rejections;
    this.conversions = conversions;
    this.cors = cors;
  }

  /** A request from its arrival on: it may be over before it gets a permit. */
  private static final class Flight extends AtomicReference<@Nullable Permit> {

    private static final long serialVersionUID = 1L;

    private volatile boolean over;

    /** Whether the connection is that of a stream that lasts. */
    private volatile boolean lasts;

    private transient @Nullable Runnable forget;

    void begin(Permit permit) {
      set(permit);
      if (over) {
        permit.end();
      }
    }

    void over() {
      over = true;
      Permit permit = get();
      if (permit != null) {
        permit.end();
      }
      Runnable watch = forget;
      if (watch != null) {
        forget = null;
        watch.run();
      }
    }
  }

  @RequestFilter
  @Order(ORDER)
  CompletionStage<Optional<MutableHttpResponse<?>>> arrived(HttpRequest<?> request) {
    Level level = criticalities.of(request);
    if (level == null || flight(request) != null) {
      // Micronaut may pass a request through all filters once more, when one of them goes on after
      // another has answered.
      return PROCEED;
    }
    Flight flight = new Flight();
    limiter.watch(due -> threads.resume(due, Optional.of(request), CallContext.NONE));
    Permit permit = limiter.tryBegin(level);
    if (permit != null) {
      flight.begin(permit);
      attach(flight, request);
      return PROCEED;
    }
    attach(flight, request);
    return await(level, flight, request);
  }

  private void attach(Flight flight, HttpRequest<?> request) {
    request.setAttribute(FLIGHT, flight);
    if (request.getHttpVersion() == HttpVersion.HTTP_2_0) {
      // Micronaut does not report the end of a request whose connection of many streams closes.
      flight.forget = threads.onGone(Optional.of(request), flight::over);
    }
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> await(
      Level level, Flight flight, HttpRequest<?> request) {
    CompletableFuture<Optional<Permit>> turn = new CompletableFuture<>();
    int caller = subjects.resolve(CALLER, request).value().hashCode();
    Waiting waiting =
        limiter.await(level, caller, permit -> turn.complete(Optional.ofNullable(permit)));
    if (!turn.isDone()) {
      Runnable stay =
          threads.onGone(
              Optional.of(request),
              () -> {
                if (waiting.leave()) {
                  flight.over();
                  turn.complete(Optional.empty());
                }
              });
      var unused = turn.whenComplete((permit, never) -> stay.run());
    }
    return threads
        .resume(turn, Optional.of(request), CallContext.current())
        .thenApply(permit -> begin(permit, flight, request));
  }

  private Optional<MutableHttpResponse<?>> begin(
      Optional<Permit> permit, Flight flight, HttpRequest<?> request) {
    if (permit.isPresent()) {
      permit.get().resumed();
      flight.begin(permit.get());
      return Optional.empty();
    }
    flight.over();
    MutableHttpResponse<?> response =
        rejections
            .reject(request, HttpStatus.SERVICE_UNAVAILABLE, CODE)
            .header(HttpHeaders.RETRY_AFTER, Long.toString(limiters.retryAfter().toSeconds()));
    if (cors != null) { // it is inside of this filter, and a script cannot read a response without
      cors.filterResponse(request, response);
    }
    return Optional.of(response);
  }

  private static @Nullable Flight flight(HttpRequest<?> request) {
    return request.getAttribute(FLIGHT).orElse(null) instanceof Flight flight ? flight : null;
  }

  @ResponseFilter
  @Order(ORDER)
  void answered(HttpRequest<?> request, MutableHttpResponse<?> response) {
    Flight flight = flight(request);
    Permit permit = flight == null ? null : flight.get();
    if (flight == null || permit == null) {
      return;
    }
    int status = response.code();
    if (asksForSocket(request)) {
      // Micronaut reports no end of a request that its handler of WebSockets has taken.
      if (countsStreams && status < HttpStatus.BAD_REQUEST.getCode() && isOfSocket(request)) {
        flight.lasts = true;
        flight.forget = threads.onGone(Optional.of(request), flight::over);
      } else {
        flight.over();
      }
    } else if (isStream(response)) {
      if (!countsStreams) {
        flight.over();
      } else if (request.getHttpVersion() == HttpVersion.HTTP_2_0 && response.body() != null) {
        // Micronaut reports no end if the client resets the stream meanwhile, but cancels the body.
        response.body(
            Flux.from(Publishers.convertToPublisher(conversions, response.body()))
                .doOnCancel(flight::over));
      }
    } else if (status >= HttpStatus.INTERNAL_SERVER_ERROR.getCode()) {
      permit.sampleFailure();
    } else if (status < HttpStatus.BAD_REQUEST.getCode()
        && request.getMethod() != HttpMethod.OPTIONS) {
      permit.sample(); // a client's mistake is answered at once, and so is a preflight
    }
    if (request.getHttpVersion() == HttpVersion.HTTP_2_0
        && response.body() instanceof FileCustomizableResponseType) {
      flight.over(); // Micronaut reports no end if the client resets the stream meanwhile
    }
  }

  private static boolean asksForSocket(HttpRequest<?> request) {
    String protocol = request.getHeaders().get(HttpHeaders.UPGRADE);
    return protocol != null && protocol.equalsIgnoreCase("websocket");
  }

  private static boolean isOfSocket(HttpRequest<?> request) {
    return RouteAttributes.getRouteMatch(request).orElse(null)
            instanceof MethodExecutionHandle<?, ?> handle
        && PlanRegistry.isOfWebSocket(handle.getExecutableMethod());
  }

  private static boolean isStream(MutableHttpResponse<?> response) {
    Object body = response.body();
    if (body != null) {
      return Publishers.isConvertibleToPublisher(body);
    }
    try {
      return OfNetty.isStream(response);
    } catch (NoClassDefFoundError absent) {
      return false;
    }
  }

  /** Netty is optional. */
  private static final class OfNetty {

    static boolean isStream(MutableHttpResponse<?> response) {
      return response instanceof NettyHttpResponseBuilder netty && netty.isStream();
    }
  }

  /** The response is written, or cannot be written any more. */
  @Override
  public void onApplicationEvent(HttpRequestTerminatedEvent ended) {
    Flight flight = flight(ended.getSource());
    if (flight != null && !flight.lasts) {
      flight.over();
    }
  }
}
