// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.http.LimitedResponseFilter;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A response is sent only after Redis has settled the call. */
@Tag("matrix")
class SettledAnswersTest {

  private static final String SPEC = "SettledAnswersTest";
  private static final Duration REPLY = Duration.ofMillis(150);

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final FaultProxy proxy = new FaultProxy(redis.port());
  private TestServer server;

  @BeforeEach
  void start() {
    server =
        TestServer.start(
            SPEC,
            Map.of(
                "redis.uri", proxy.uri(),
                "limiter.redis.deadline", "3s",
                "limiter.fallback", "deny"));
  }

  @AfterEach
  void close() {
    server.close();
    proxy.close();
    redis.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "flux", "within", "bean", "success?who=ann"})
  void theAnswerComesAfterTheReplyToItsEnd(String route) {
    server.get("/settled/plain"); // connected and warm
    proxy.delay(REPLY);

    long begin = System.nanoTime();
    assertThat(server.get("/settled/" + route).statusCode()).isEqualTo(200);

    assertThat(Duration.ofNanos(System.nanoTime() - begin))
        .as("two replies: to its begin and to its end")
        .isGreaterThanOrEqualTo(REPLY.multipliedBy(2));
  }

  /** What could not be given back ends by itself. */
  @Test
  void anAnswerWaitsNoLongerThanTheDeadline() {
    CompletableFuture<java.net.http.HttpResponse<String>> answer =
        server.getAsync("/settled/running");
    Routes routes = server.bean(Routes.class);
    await().until(() -> routes.entered);
    proxy.blackHole();

    routes.running.complete("ok");

    await().atMost(Duration.ofSeconds(15)).until(answer::isDone);
    assertThat(answer.join().statusCode()).isEqualTo(200);
  }

  /** Without a subscriber, so that it cannot end. */
  @Test
  void aStreamThatAFilterPutsSomethingElseInPlaceOfHoldsNoPlace() {
    for (int i = 0; i < 3; i++) {
      await()
          .atMost(Duration.ofSeconds(20)) // a permit lasts longer
          .until(() -> server.get("/settled/replaced").statusCode() == 200);
    }
  }

  @Controller("/settled")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final CompletableFuture<String> running = new CompletableFuture<>();
    volatile boolean entered;
    private final Service service;

    Routes(Service service) {
      this.service = service;
    }

    @Get("/plain")
    @RateRule
    String plain() {
      return "ok";
    }

    @Get("/sync")
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    String sync() {
      return "ok";
    }

    @Get("/stage")
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    CompletionStage<String> stage() {
      return CompletableFuture.completedFuture("ok");
    }

    @Get("/mono")
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Mono<String> mono() {
      return Mono.just("ok");
    }

    @Get("/flux")
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Flux<String> flux() {
      return Flux.just("o", "k");
    }

    @Get("/within")
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    HttpResponse<Flux<String>> within() {
      return HttpResponse.ok(Flux.just("o", "k"));
    }

    @Get("/bean")
    CompletionStage<String> bean() {
      return service.call();
    }

    @Get("/success")
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules = @RateRule(count = 1, counts = Counts.FAILURES))
    Mono<String> success(@QueryValue String who) {
      return Mono.just("ok");
    }

    @Get("/running")
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    CompletionStage<String> running() {
      entered = true;
      return running;
    }

    @Get("/replaced")
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Flux<String> replaced() {
      return Flux.just("never", "seen");
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Service {

    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    CompletionStage<String> call() {
      return CompletableFuture.completedFuture("ok");
    }
  }

  /** Sees answers after the limiter. */
  @ServerFilter("/settled/replaced")
  @Requires(property = "spec.name", value = SPEC)
  static class Replacing {

    @ResponseFilter
    @Order(LimitedResponseFilter.ORDER - 10)
    MutableHttpResponse<?> replace(MutableHttpResponse<?> response) {
      return response.body("something else");
    }
  }
}
