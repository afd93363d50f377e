// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Filter;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.FilterContinuation;
import io.micronaut.http.filter.HttpServerFilter;
import io.micronaut.http.filter.ServerFilterChain;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Only the end of the method ends its duplicate guard, and that end is written until it is kept.
 */
@Tag("matrix")
class GuardEndTest {

  private static final String SPEC = "GuardEndTest";
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration TIMEOUT = Duration.ofMillis(300);
  private static final Duration CLAIM = Duration.ofSeconds(4);
  private static final Duration LONGER_THAN_THE_CLAIM = CLAIM.plusSeconds(1);
  private static final long ALMOST_AN_HOUR = Duration.ofMinutes(59).toMillis();

  /** For an hour. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      header = "X-Order",
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 1, timeUnit = TimeUnit.HOURS),
      duplicate = @Duplicate(by = DuplicateBy.CALLER))
  @interface Plain {}

  /**
   * For an hour, claimed for four seconds at a time: longer than a fault and the new connection
   * take.
   */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      header = "X-Order",
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 1, timeUnit = TimeUnit.HOURS),
      duplicate = @Duplicate(by = DuplicateBy.CALLER, claim = "4s"))
  @interface Claimed {}

  /** Each method runs until the test ends it. */
  @Controller("/guard-end/{filter}")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final AtomicInteger entered = new AtomicInteger();
    private volatile CompletableFuture<String> running = new CompletableFuture<>();

    private CompletableFuture<String> run() {
      entered.incrementAndGet();
      return running;
    }

    @Plain
    @Post("/plain/string")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String plainString(String filter, @Body String order) {
      return run().join();
    }

    @Plain
    @Post("/plain/stage")
    CompletionStage<String> plainStage(String filter, @Body String order) {
      return run();
    }

    @Plain
    @Post("/plain/mono")
    Mono<String> plainMono(String filter, @Body String order) {
      return Mono.defer(() -> Mono.fromFuture(run(), true));
    }

    @Plain
    @Post("/plain/flux")
    Flux<String> plainFlux(String filter, @Body String order) {
      return Flux.defer(() -> Mono.fromFuture(run(), true));
    }

    @Claimed
    @Post("/claimed/string")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String claimedString(String filter, @Body String order) {
      return run().join();
    }

    @Claimed
    @Post("/claimed/stage")
    CompletionStage<String> claimedStage(String filter, @Body String order) {
      return run();
    }

    @Claimed
    @Post("/claimed/mono")
    Mono<String> claimedMono(String filter, @Body String order) {
      return Mono.defer(() -> Mono.fromFuture(run(), true));
    }

    @Claimed
    @Post("/claimed/flux")
    Flux<String> claimedFlux(String filter, @Body String order) {
      return Flux.defer(() -> Mono.fromFuture(run(), true));
    }

    /** Released by the status of the filter, if the method has ended by then. */
    @Post("/listed/string")
    @ExecuteOn(TaskExecutors.BLOCKING)
    @RateLimiter(
        header = "X-Order",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 1, timeUnit = TimeUnit.HOURS),
        duplicate = @Duplicate(by = DuplicateBy.CALLER, releaseOn = 504))
    String listed(String filter, @Body String order) {
      return run().join();
    }
  }

  /** Outside of the gate; of a streamed response they wait for all of it. */
  @Filter("/guard-end/old/**")
  @Requires(property = "spec.name", value = SPEC)
  static class OldTimeout implements HttpServerFilter {
    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return timed(chain.proceed(request), true);
    }
  }

  @ServerFilter("/guard-end/new/**")
  @Requires(property = "spec.name", value = SPEC)
  static class NewTimeout {
    @RequestFilter
    Publisher<MutableHttpResponse<?>> timed(
        FilterContinuation<Publisher<MutableHttpResponse<?>>> rest) {
      return GuardEndTest.timed(rest.proceed(), true);
    }
  }

  /** The rest of the request does not see that it is not waited for. */
  @Filter("/guard-end/uncancelled/**")
  @Requires(property = "spec.name", value = SPEC)
  static class UncancelledTimeout implements HttpServerFilter {
    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return timed(chain.proceed(request), false);
    }
  }

  private static Publisher<MutableHttpResponse<?>> timed(
      Publisher<? extends MutableHttpResponse<?>> rest, boolean cancels) {
    Mono<MutableHttpResponse<?>> whole =
        Mono.<MutableHttpResponse<?>>from(rest).flatMap(GuardEndTest::whole);
    return (cancels ? whole : Mono.fromFuture(whole.toFuture(), true))
        .timeout(
            TIMEOUT,
            Mono.fromSupplier(
                () -> io.micronaut.http.HttpResponse.status(HttpStatus.GATEWAY_TIMEOUT)));
  }

  private static Mono<MutableHttpResponse<?>> whole(MutableHttpResponse<?> response) {
    return Publishers.isConvertibleToPublisher(response.body())
        ? Flux.from((Publisher<?>) response.body())
            .collectList()
            .map(items -> response.body(items.toString()))
        : Mono.just(response);
  }

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final FaultProxy proxy = new FaultProxy(redis.port());
  private final RedisClient client = RedisClient.create(redis.uri());
  private final RedisCommands<String, String> commands = client.connect().sync();
  private final String key = UUID.randomUUID().toString();
  private HttpService service;
  private Routes routes;

  @BeforeEach
  void start() {
    service =
        HttpService.start(
            SPEC,
            HttpService.settings(
                "redis.uri",
                proxy.uri(),
                "limiter.redis.start-timeout",
                "10s",
                "limiter.fallback",
                "deny"));
    routes = service.bean(Routes.class);
    await().atMost(PATIENCE).until(() -> commands.keys("*").isEmpty());
  }

  @AfterEach
  void close() {
    routes.running.complete("at last"); // if the test has failed
    service.close();
    client.shutdown();
    proxy.close();
    redis.close();
  }

  private CompletableFuture<Integer> submit(String route) {
    return service
        .postAsync("/guard-end/" + route, "\"tea\"", "X-Order", key)
        .thenApply(HttpResponse::statusCode);
  }

  private void awaitRun(int number) {
    await().atMost(PATIENCE).until(() -> routes.entered.get() == number);
  }

  /** The time to live of the guard; below 0 if there is none. */
  private long life() {
    return commands.keys("*:d.*").stream().mapToLong(commands::pttl).max().orElse(-2);
  }

  private void end(String how) {
    CompletableFuture<String> before = routes.running;
    routes.running = CompletableFuture.completedFuture("again");
    if (how.equals("throws")) {
      before.completeExceptionally(new IllegalStateException("throws"));
    } else {
      before.complete("done");
    }
  }

  private void staysTaken(String route, Duration time) {
    await().during(time).atMost(PATIENCE).until(() -> submit(route).join() == 409);
    assertThat(routes.entered).hasValue(1);
  }

  private void becomesFree(String route) {
    await().atMost(PATIENCE).until(() -> submit(route).join() == 200);
    assertThat(routes.entered).hasValue(2);
  }

  static Stream<Arguments> timeouts() {
    return Stream.of("plain", "claimed")
        .flatMap(
            guard ->
                Stream.of(
                    "old/" + guard + "/string",
                    "old/" + guard + "/stage",
                    "old/" + guard + "/mono",
                    "old/" + guard + "/flux",
                    "new/" + guard + "/string",
                    "new/" + guard + "/mono",
                    "uncancelled/" + guard + "/string",
                    "uncancelled/" + guard + "/mono"))
        .map(Arguments::arguments);
  }

  @ParameterizedTest
  @MethodSource("timeouts")
  void aResponseThatDidNotWaitReleasesNothing(String route) {
    assertThat(submit(route).join()).isEqualTo(504);
    staysTaken(route, route.contains("claimed") ? LONGER_THAN_THE_CLAIM : TIMEOUT);

    end("returns");

    await().atMost(PATIENCE).until(() -> life() > ALMOST_AN_HOUR);
    staysTaken(route, TIMEOUT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "old/plain/string",
        "new/plain/stage",
        "uncancelled/plain/mono",
        "old/claimed/string",
        "new/claimed/stage",
        "uncancelled/claimed/mono"
      })
  void aMethodThatThrowsAfterTheResponseIsReleased(String route) {
    assertThat(submit(route).join()).isEqualTo(504);
    staysTaken(route, TIMEOUT);

    end("throws");

    becomesFree(route);
  }

  @Test
  void aListedStatusReleasesNothingWhileTheMethodRuns() {
    assertThat(submit("old/listed/string").join()).isEqualTo(504);
    staysTaken("old/listed/string", TIMEOUT);
    end("returns");
    staysTaken("old/listed/string", TIMEOUT);
  }

  @ParameterizedTest
  @CsvSource({
    "plain/string, returns",
    "plain/stage, returns",
    "plain/mono, returns",
    "plain/flux, returns",
    "claimed/string, returns",
    "claimed/stage, returns",
    "claimed/mono, returns",
    "claimed/flux, returns",
    "plain/string, throws",
    "plain/stage, throws",
    "claimed/string, throws",
    "claimed/stage, throws"
  })
  void aClientThatLeavesEndsNothing(String path, String how) throws IOException {
    String route = "none/" + path;
    String whole =
        """
        POST %s HTTP/1.1\r
        Host: localhost\r
        Content-Type: application/json\r
        Content-Length: 5\r
        X-Order: %s\r
        \r
        "tea\""""
            .formatted(HttpService.path("/guard-end/" + route), key);
    try (Socket left = service.openWith(whole)) {
      awaitRun(1);
      left.setSoLinger(true, 0);
    }
    staysTaken(route, path.startsWith("claimed") ? LONGER_THAN_THE_CLAIM : TIMEOUT);

    end(how);

    if (how.equals("throws")) {
      becomesFree(route);
    } else {
      await().atMost(PATIENCE).until(() -> life() > ALMOST_AN_HOUR);
      staysTaken(route, TIMEOUT);
    }
  }

  /** How the store misses the end of a method. */
  enum Fault {
    AWAY,
    NO_REPLICAS,
    LOST_REPLY
  }

  private void begin(Fault fault) {
    switch (fault) {
      case AWAY -> proxy.rejectConnections();
      case NO_REPLICAS -> commands.configSet("min-replicas-to-write", "1");
      case LOST_REPLY -> proxy.cutAfterReplies(0);
    }
  }

  private void repair() {
    proxy.pass();
    commands.configSet("min-replicas-to-write", "0");
  }

  static Stream<Arguments> faults() {
    return Stream.of(Fault.values())
        .flatMap(
            fault ->
                Stream.of("string", "stage", "mono", "flux").map(kind -> arguments(fault, kind)));
  }

  @ParameterizedTest
  @MethodSource("faults")
  void anEndIsWrittenUntilTheStoreHasIt(Fault fault, String kind) throws Exception {
    String route = "none/claimed/" + kind;
    CompletableFuture<Integer> first = submit(route);
    awaitRun(1);
    begin(fault);
    end("returns");
    assertThat(first.get(1, TimeUnit.SECONDS)).as("does not wait for it").isEqualTo(200);
    Thread.sleep(500);
    repair();

    await().atMost(PATIENCE).until(() -> life() > ALMOST_AN_HOUR);
    await().atMost(PATIENCE).until(() -> submit(route).join() == 409);
    assertThat(routes.entered).hasValue(1);
  }

  @ParameterizedTest
  @MethodSource("faults")
  void aReleaseIsWrittenUntilTheStoreHasIt(Fault fault, String kind) throws Exception {
    String route = "none/plain/" + kind;
    CompletableFuture<Integer> first = submit(route);
    awaitRun(1);
    begin(fault);
    end("throws");
    assertThat(first.get(1, TimeUnit.SECONDS)).as("does not wait for it").isEqualTo(500);
    Thread.sleep(500);
    repair();

    await().atMost(PATIENCE).until(() -> life() < 0);
    becomesFree(route);
  }
}
