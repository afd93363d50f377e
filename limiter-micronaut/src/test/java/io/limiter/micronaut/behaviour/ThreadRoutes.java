// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.context.ServerRequestContext;
import io.micronaut.http.multipart.CompletedFileUpload;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Routes that report on which thread they run, and what they find of their request there. */
@Controller("/threads")
@Requires(property = "spec.name", value = ThreadRoutes.SPEC)
class ThreadRoutes {

  static final String SPEC = "Threads";
  static final String OWN_POOL = "own-pool";

  private static final String LOOP = "test.loop";

  private final Helper helper;

  ThreadRoutes(Helper helper) {
    this.helper = helper;
  }

  /** Notes the event loop that reads the request. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class LoopFilter {
    @RequestFilter
    @Order(Ordered.HIGHEST_PRECEDENCE)
    void note(HttpRequest<?> request) {
      request.setAttribute(LOOP, Thread.currentThread().getName());
    }
  }

  /** A limited bean that is no route. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Helper {
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 100, time = 60))
    String help() {
      return "helped";
    }
  }

  /** An executor of the application. */
  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Pools {
    @Bean(preDestroy = "shutdown")
    @Singleton
    @Named(OWN_POOL)
    ExecutorService pool() {
      return Executors.newSingleThreadExecutor(task -> new Thread(task, OWN_POOL));
    }
  }

  /** Answers failures of the store. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class StoreFailureHandler
      implements ExceptionHandler<ArithmeticException, HttpResponse<?>> {
    @Override
    public HttpResponse<?> handle(HttpRequest request, ArithmeticException failure) {
      return HttpResponse.serverError("handled: " + failure.getMessage());
    }
  }

  /** Its own thread, its request's event loop, and the request that it finds there. */
  private static String where() {
    String request =
        ServerRequestContext.currentRequest().map(HttpRequest::getPath).orElse("no request");
    String loop =
        ServerRequestContext.currentRequest()
            .flatMap(current -> current.getAttribute(LOOP, String.class))
            .orElse("no loop");
    return Thread.currentThread().getName() + "|" + loop + "|" + request;
  }

  @Get("/sync")
  @RateRule(count = 100, time = 60)
  String sync() {
    return where();
  }

  @Post("/body")
  @RateRule(count = 100, time = 60)
  String body(@Body Map<String, String> order) {
    return where() + "|" + order.get("item");
  }

  @Post(value = "/upload", consumes = MediaType.MULTIPART_FORM_DATA)
  @RateRule(count = 100, time = 60)
  String upload(CompletedFileUpload file) throws IOException {
    return where() + "|" + RouteKind.describe(file);
  }

  @Get("/own-pool")
  @ExecuteOn(OWN_POOL)
  @RateRule(count = 100, time = 60)
  String ownPool() {
    return where();
  }

  @Get("/stage")
  @RateRule(count = 100, time = 60)
  CompletionStage<String> stage() {
    return CompletableFuture.completedFuture(where());
  }

  @Get("/mono")
  @RateRule(count = 100, time = 60)
  Mono<String> mono() {
    return Mono.just(where());
  }

  @Get("/deferred")
  @RateRule(count = 100, time = 60)
  Mono<String> deferred() {
    return Mono.fromSupplier(ThreadRoutes::where);
  }

  @Get("/flux")
  @RateRule(count = 100, time = 60)
  Flux<String> flux() {
    return Flux.just(where());
  }

  @Get("/by-argument/sync")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 100, time = 60))
  String syncByArgument(@QueryValue String who) {
    return where();
  }

  @Get("/by-argument/own-pool")
  @ExecuteOn(OWN_POOL)
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 100, time = 60))
  String ownPoolByArgument(@QueryValue String who) {
    return where();
  }

  @Get("/by-argument/stage")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 100, time = 60))
  CompletionStage<String> stageByArgument(@QueryValue String who) {
    return CompletableFuture.completedFuture(where());
  }

  @Get("/by-argument/stage-elsewhere")
  @ExecuteOn(TaskExecutors.IO)
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 100, time = 60))
  CompletionStage<String> stageElsewhereByArgument(@QueryValue String who) {
    return CompletableFuture.completedFuture(where());
  }

  @Get("/by-argument/mono")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 100, time = 60))
  Mono<String> monoByArgument(@QueryValue String who) {
    return Mono.just(where());
  }

  @Get("/by-argument/deferred")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 100, time = 60))
  Mono<String> deferredByArgument(@QueryValue String who) {
    return Mono.fromSupplier(ThreadRoutes::where);
  }

  @Get("/by-argument/flux")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 100, time = 60))
  Flux<String> fluxByArgument(@QueryValue String who) {
    return Flux.just(where());
  }

  @Get("/nested")
  @RateRule(count = 100, time = 60)
  String nested() {
    return helper.help();
  }

  @Get("/nested/may-wait")
  @ExecuteOn(TaskExecutors.BLOCKING)
  @RateRule(count = 100, time = 60)
  String nestedMayWait() {
    return helper.help();
  }

  @Get("/unlimited/deferred")
  Mono<String> unlimitedDeferred() {
    return Mono.fromSupplier(ThreadRoutes::where);
  }
}
