// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.limiter.micronaut.http.GateFilter;
import io.micronaut.aop.Around;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The floors: routes that do the least that any limiter of this shape has to do, without the
 * limiter. A command of the same length goes to Redis on the same way, but its script only returns
 * a constant, and the response is constant.
 */
final class Floors {

  private static final String POLICY = "RateLimit-Policy";
  private static final String LIMIT = "RateLimit";

  private Floors() {}

  @Controller(produces = MediaType.TEXT_PLAIN)
  static class Routes {

    private static final String OK = "ok";

    /** The floor of {@code /limited}. */
    @Get("/floor")
    String floor() {
      return OK;
    }

    /** The floor of {@code /limited-call}: on the same executor, with the same argument. */
    @Get("/floor-call")
    @ExecuteOn(TaskExecutors.BLOCKING)
    @Asked
    String floorCall(Caller caller) {
      return OK;
    }

    /** The floor of {@code /denied}. Never entered. */
    @Get("/floor-denied")
    String floorDenied() {
      return OK;
    }
  }

  /** In the place of the gate: asks Redis on the event loop of the request. */
  @ServerFilter("/floor")
  static final class Gate {

    private final FloorConnections redis;

    Gate(FloorConnections redis) {
      this.redis = redis;
    }

    @RequestFilter
    @Order(GateFilter.ORDER)
    CompletionStage<Optional<MutableHttpResponse<?>>> ask() {
      return redis.ask().thenApply(reply -> Optional.empty());
    }
  }

  /** Writes two fields of the length of those of {@code /limited}. */
  @ServerFilter({"/floor", "/floor-call"})
  static final class Fields {

    @ResponseFilter
    @Order(GateFilter.ORDER)
    void write(MutableHttpResponse<?> response) {
      response
          .header(POLICY, "\"1000-per-60s\";q=1000;w=60, \"10000-per-3600s\";q=10000;w=3600")
          .header(LIMIT, "\"1000-per-60s\";r=999;t=60, \"10000-per-3600s\";r=9999;t=3600");
    }
  }

  /**
   * In the place of the gate: answers like a denial from the deny cache; even its date is constant.
   */
  @ServerFilter("/floor-denied")
  static final class Denial {

    /** It names the limiter's route, since the path of this one is longer. */
    private static final byte[] BODY =
        """
        {"message":"Too Many Requests","logref":"rate_limited","_links":{"self":{"href":"/denied","templated":false}},"_embedded":{"errors":[{"message":"Too many requests, try again later"}]}}"""
            .getBytes(UTF_8);

    @RequestFilter
    @Order(GateFilter.ORDER)
    HttpResponse<?> deny() {
      return HttpResponse.status(HttpStatus.TOO_MANY_REQUESTS)
          .contentType(MediaType.APPLICATION_JSON_TYPE)
          .header(HttpHeaders.DATE, "Mon, 23 Nov 2026 07:28:58 GMT")
          .header(POLICY, "\"1-per-3600s\";q=1;w=3600")
          .header(LIMIT, "\"1-per-3600s\";r=0;t=3600")
          .header(HttpHeaders.CACHE_CONTROL, "no-store")
          .header(HttpHeaders.RETRY_AFTER, "3600")
          .body(BODY);
    }
  }

  /** Marks a method that the {@link Guard} guards. */
  @Around
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.METHOD)
  @interface Asked {}

  /** In the place of the guard: asks Redis, and waits for the reply on the thread of the call. */
  @InterceptorBean(Asked.class)
  static final class Guard implements MethodInterceptor<Object, Object> {

    private final FloorConnections redis;

    Guard(FloorConnections redis) {
      this.redis = redis;
    }

    @Override
    public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
      var unused = redis.ask().toCompletableFuture().join();
      return context.proceed();
    }
  }
}
