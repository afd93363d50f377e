// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.Async;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Executors of few threads, all of which wait for calls of limited beans: what follows such a call
 * needs none of them.
 */
@Tag("matrix")
class BoundedExecutorsTest {

  private static final String SPEC = "BoundedExecutorsTest";
  private static final int REQUESTS = 12;
  private static final int PATIENCE_SECONDS = 20;

  private static final List<String> ROUTES =
      List.of(
          "sync",
          "void",
          "stage",
          "mono",
          "flux",
          "stage-of-stages",
          "on-io",
          "on-scheduled",
          "async-void",
          "async-stage",
          "limited/sync?who=a",
          "limited/stage?who=a",
          "limited/mono?who=a",
          "limited/flux?who=a");

  /** Limited methods of each kind, with a decision that is never there at once. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Helper {

    final AtomicInteger entered = new AtomicInteger();

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    String sync() {
      return "ok";
    }

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    void nothing() {
      entered.incrementAndGet();
    }

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    CompletionStage<String> stage() {
      return CompletableFuture.completedFuture("ok");
    }

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    Mono<String> mono() {
      return Mono.just("ok");
    }

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    Flux<String> flux() {
      return Flux.just("o", "k");
    }

    @Async(TaskExecutors.IO)
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    void async() {
      entered.incrementAndGet();
    }

    @Async(TaskExecutors.SCHEDULED)
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    CompletionStage<String> asyncStage() {
      return CompletableFuture.completedFuture("ok");
    }
  }

  /** Routes that wait on a thread of an executor; those below /limited are limited themselves. */
  @Controller("/bounded")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Helper helper;

    Routes(Helper helper) {
      this.helper = helper;
    }

    @Get("/sync")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String sync() {
      return helper.sync();
    }

    @Get("/void")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String nothing() {
      helper.nothing();
      return "ok";
    }

    @Get("/stage")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String stage() {
      return helper.stage().toCompletableFuture().join();
    }

    @Get("/mono")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String mono() {
      return helper.mono().block();
    }

    @Get("/flux")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String flux() {
      return String.join("", helper.flux().collectList().block());
    }

    /** What follows the first waits for the second. */
    @Get("/stage-of-stages")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String stageOfStages() {
      return helper
          .stage()
          .thenApply(first -> helper.stage().toCompletableFuture().join())
          .toCompletableFuture()
          .join();
    }

    @Get("/on-io")
    @ExecuteOn(TaskExecutors.IO)
    String onIo() {
      return helper.mono().block();
    }

    @Get("/on-scheduled")
    @ExecuteOn(TaskExecutors.SCHEDULED)
    String onScheduled() {
      return helper.stage().toCompletableFuture().join();
    }

    @Get("/async-void")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String asyncVoid() {
      helper.async();
      return "ok";
    }

    @Get("/async-stage")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String asyncStage() {
      return helper.asyncStage().toCompletableFuture().join();
    }

    @Get("/limited/sync")
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules = @RateRule(count = 9_000, time = 60))
    String limited(@QueryValue String who) {
      return helper.stage().toCompletableFuture().join();
    }

    @Get("/limited/stage")
    @ExecuteOn(TaskExecutors.BLOCKING)
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules = @RateRule(count = 9_000, time = 60))
    CompletionStage<String> limitedStage(@QueryValue String who) {
      return CompletableFuture.completedFuture(helper.mono().block());
    }

    @Get("/limited/mono")
    @ExecuteOn(TaskExecutors.BLOCKING)
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules = @RateRule(count = 9_000, time = 60))
    Mono<String> limitedMono(@QueryValue String who) {
      return Mono.just(helper.stage().toCompletableFuture().join());
    }

    @Get("/limited/flux")
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules = @RateRule(count = 9_000, time = 60))
    Flux<String> limitedFlux(@QueryValue String who) {
      return Flux.just(helper.stage().toCompletableFuture().join());
    }
  }

  static Stream<Arguments> executors() {
    return Stream.of("fixed", "scheduled")
        .flatMap(type -> Stream.of(1, 2, 4).map(threads -> Arguments.of(type, threads)));
  }

  @ParameterizedTest
  @MethodSource("executors")
  void callsThatAllThreadsWaitForGoOn(String type, int threads) throws Exception {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("test.slow-store", true);
    for (String name : List.of("io", "blocking", "scheduled")) {
      String executor = "micronaut.executors." + name + '.';
      settings.put(executor + "type", name.equals("scheduled") ? name : type);
      settings.put(executor + "n-threads", threads);
      settings.put(executor + "core-pool-size", threads);
    }
    TestServer server = TestServer.start(SPEC, settings);
    try {
      for (String route : ROUTES) {
        if (threads == 1 && route.equals("on-scheduled")) {
          continue; // an executor of Micronaut's own tasks, which are none of the limiter's
        }
        List<CompletableFuture<HttpResponse<String>>> calls = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
          calls.add(server.getAsync("/bounded/" + route));
        }
        for (CompletableFuture<HttpResponse<String>> call : calls) {
          HttpResponse<String> answer = call.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
          assertThat(answer.statusCode()).as(route + ": " + answer.body()).isEqualTo(200);
          assertThat(answer.body()).as(route).contains("ok");
        }
      }
      AtomicInteger entered = server.bean(Helper.class).entered;
      await()
          .atMost(Duration.ofSeconds(PATIENCE_SECONDS))
          .until(() -> entered.get() == 2 * REQUESTS);
    } finally {
      server.close();
    }
    await()
        .atMost(Duration.ofSeconds(PATIENCE_SECONDS))
        .untilAsserted(() -> assertThat(callThreads()).isEmpty());
  }

  /** The threads that calls go on with; more than those that go on at once would be too many. */
  private static Set<String> callThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("limiter-call-"))
        .collect(Collectors.toSet());
  }
}
