// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Filter;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.filter.HttpServerFilter;
import io.micronaut.http.filter.ServerFilterChain;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Routes of every kind, of which a caller may have two calls running, until a test ends them. */
@Controller("/in-flight")
@Requires(property = "spec.name", value = InFlightRoutes.SPEC)
class InFlightRoutes {

  static final String SPEC = "InFlight";

  private static final String RUNS = "test.runs";

  private final RunningCalls calls;
  private final Service service;
  private final BeanProvider<InFlightRoutes> self;

  InFlightRoutes(RunningCalls calls, Service service, BeanProvider<InFlightRoutes> self) {
    this.calls = calls;
    this.service = service;
    this.self = self;
  }

  @Get("/sync")
  @ExecuteOn(TaskExecutors.BLOCKING)
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  String sync() {
    return calls.begin().join();
  }

  @Get("/stage")
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> stage() {
    return calls.begin();
  }

  @Get("/mono")
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  Mono<String> mono() {
    return Mono.defer(() -> Mono.fromFuture(calls.begin(), true));
  }

  @Post("/permit-body")
  @RateRule(count = 1, time = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> leasedBody(@Body Map<String, Integer> body) {
    return calls.begin();
  }

  @Get("/timed/{status}/stage")
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> timedStage(int status, HttpRequest<?> request) {
    CompletableFuture<String> call = calls.begin();
    request.setAttribute(RUNS, true);
    return call;
  }

  @Get("/timed/{status}/sync")
  @ExecuteOn(TaskExecutors.BLOCKING)
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  String timedSync(int status, HttpRequest<?> request) {
    CompletableFuture<String> call = calls.begin();
    request.setAttribute(RUNS, true);
    return call.join();
  }

  @Get("/timed/{status}/permit")
  @RateRule(count = 1, time = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> timedLeased(int status, HttpRequest<?> request) {
    CompletableFuture<String> call = calls.begin();
    request.setAttribute(RUNS, true);
    return call;
  }

  /** Does not wait for a route that runs, and answers for it before the limiter sees an answer. */
  @Filter("/in-flight/timed/504/**")
  @Requires(property = "spec.name", value = InFlightRoutes.SPEC)
  static class Inside implements HttpServerFilter {
    @Override
    public int getOrder() {
      return Ordered.LOWEST_PRECEDENCE;
    }

    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return timed(request, chain, HttpStatus.GATEWAY_TIMEOUT);
    }
  }

  /** Ends calls in time, also those that the limiter has answered, or would. */
  @Filter("/in-flight/timed/503/**")
  @Requires(property = "spec.name", value = InFlightRoutes.SPEC)
  static class Outside implements HttpServerFilter {
    @Override
    public int getOrder() {
      return Ordered.HIGHEST_PRECEDENCE;
    }

    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return timed(request, chain, HttpStatus.SERVICE_UNAVAILABLE);
    }
  }

  private static Publisher<MutableHttpResponse<?>> timed(
      HttpRequest<?> request, ServerFilterChain chain, HttpStatus status) {
    Mono<Long> runs =
        Flux.interval(Duration.ofMillis(10))
            .filter(tick -> request.getAttribute(RUNS).isPresent())
            .next();
    return Flux.<MutableHttpResponse<?>>from(chain.proceed(request))
        .timeout(
            runs, answer -> Mono.never(), Mono.fromSupplier(() -> HttpResponse.status(status)));
  }

  /** Its answer has begun before it runs. */
  @Get("/flux")
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  Flux<String> flux() {
    return Flux.concat(Flux.just("begun "), Mono.defer(() -> Mono.fromFuture(calls.begin(), true)));
  }

  /** A stream within an answer. */
  @Get("/within")
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  HttpResponse<Flux<String>> within() {
    return HttpResponse.ok(
        Flux.concat(Flux.just("begun "), Mono.defer(() -> Mono.fromFuture(calls.begin(), true))));
  }

  @Post("/body")
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> body(@Body Map<String, Integer> body) {
    return calls.begin();
  }

  @Get("/argument")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT))
  CompletionStage<String> argument(@QueryValue String who) {
    return calls.begin();
  }

  /** With other rules, and a guard. */
  @Get("/stacked")
  @RateLimiter(
      cost = "5",
      rules = {
        @RateRule(count = 100),
        @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT, name = "places")
      })
  Mono<String> stacked() {
    return Mono.defer(() -> Mono.fromFuture(calls.begin(), true));
  }

  /** With a permit that is as short as can be. */
  @Get("/permit")
  @RateLimiter(
      key = "permit",
      rules = @RateRule(count = 1, time = 1, algorithm = Algorithm.CONCURRENCY_LIMIT))
  CompletionStage<String> permit() {
    return calls.begin();
  }

  /** Calls itself, so that it holds both places. */
  @Get("/twice{?again}")
  @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> twice(@QueryValue(defaultValue = "true") boolean again) {
    return again ? self.get().twice(false) : calls.begin();
  }

  @Get("/bean/{kind}")
  CompletionStage<String> bean(String kind) {
    return switch (kind) {
      case "stage" -> service.stage();
      case "mono" -> service.mono().toFuture();
      case "flux" -> service.flux().last().toFuture();
      default -> throw new IllegalArgumentException(kind);
    };
  }

  /** A bean that is not a route: there is no response. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Service {

    private final RunningCalls calls;

    Service(RunningCalls calls) {
      this.calls = calls;
    }

    @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
    CompletionStage<String> stage() {
      return calls.begin();
    }

    @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Mono<String> mono() {
      return Mono.defer(() -> Mono.fromFuture(calls.begin(), true));
    }

    @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Flux<String> flux() {
      return Flux.concat(
          Flux.just("begun"), Mono.defer(() -> Mono.fromFuture(calls.begin(), true)));
    }
  }
}
