// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.http.GateFilter;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.server.annotation.PreMatching;
import io.netty.channel.EventLoop;
import io.netty.util.internal.ThreadExecutorMap;
import jakarta.inject.Singleton;
import java.security.Principal;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Routes that the request alone decides, where it may matter at which door. */
@Controller("/doors")
@Requires(property = "spec.name", value = GateDifferenceRoutes.SPEC)
class GateDifferenceRoutes {

  static final String SPEC = "GateDifferences";
  static final String ANSWER_EARLY = "X-Answer-Early";
  static final String LATE_USER = "X-Late-User";

  /** Runs before the route is known; then Micronaut asks no filter whether it is enabled. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Early {
    @PreMatching
    @RequestFilter
    void early(HttpRequest<?> request) {
      request.setAttribute("test.early", true);
    }
  }

  /** The application's filter behind the gate. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Late {

    final AtomicInteger passed = new AtomicInteger();

    @RequestFilter
    @Order(GateFilter.ORDER + 100)
    @Nullable HttpResponse<?> late(HttpRequest<?> request) {
      passed.incrementAndGet();
      String user = request.getHeaders().get(LATE_USER);
      if (user != null) {
        request.setAttribute(HttpAttributes.PRINCIPAL, (Principal) () -> user);
      }
      return request.getHeaders().contains(ANSWER_EARLY) ? HttpResponse.unauthorized() : null;
    }
  }

  /** Returns the kind of thread on which it was called. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Asked implements SubjectResolver {
    volatile boolean onEventLoop;

    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      onEventLoop = onEventLoop();
      return Optional.of("somebody");
    }
  }

  static boolean onEventLoop() {
    return ThreadExecutorMap.currentExecutor() instanceof EventLoop;
  }

  private static String thread() {
    return onEventLoop() ? "event loop" : "other";
  }

  @Get("/sync")
  @RateRule(count = 2, time = 60)
  String sync() {
    return thread();
  }

  @Get("/stage")
  @RateRule(count = 2, time = 60)
  CompletionStage<String> stage() {
    return CompletableFuture.completedFuture(thread());
  }

  @Get("/mono")
  @RateRule(count = 2, time = 60)
  Mono<String> mono() {
    return Mono.just(thread());
  }

  @Get("/flux")
  @RateRule(count = 2, time = 60)
  Flux<Map<String, String>> flux() {
    return Flux.just(Map.of("thread", thread()));
  }

  @Get("/resolver")
  @RateLimiter(resolver = Asked.class, rules = @RateRule(count = 2, time = 60))
  String resolver() {
    return "ok";
  }

  @Get("/user")
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 2, time = 60))
  String user() {
    return "ok";
  }

  @Get("/number{?n}")
  @RateRule(count = 2, time = 60)
  String number(@QueryValue int n) {
    return "ok";
  }

  @Post("/body")
  @RateRule(count = 2, time = 60)
  String body(@Body Map<String, String> body) {
    return "ok";
  }

  @Post("/kept")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate = @Duplicate(releaseOnFailure = false, by = DuplicateBy.CALLER))
  String kept(@Body Map<String, String> body) {
    return "ok";
  }

  @Post("/kept-by-list")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate = @Duplicate(releaseOn = 500, by = DuplicateBy.CALLER))
  String keptByList(@Body Map<String, String> body) {
    return "ok";
  }

  @Post("/released")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate = @Duplicate(by = DuplicateBy.CALLER))
  String released(@Body Map<String, String> body) {
    return "ok";
  }

  /** Rejects requests with a response of its own. */
  @Controller("/doors/own")
  @Requires(property = "spec.name", value = SPEC)
  static class OwnAnswer {
    @Get
    @RateRule(count = 1, time = 60)
    String own() {
      return "ok";
    }

    @Error
    HttpResponse<String> denied(LimitDeniedException denied) {
      return HttpResponse.<String>status(HttpStatus.I_AM_A_TEAPOT).body("later");
    }
  }
}
