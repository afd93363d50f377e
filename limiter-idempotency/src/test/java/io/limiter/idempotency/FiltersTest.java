// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Filter;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.FilterContinuation;
import io.micronaut.http.filter.HttpServerFilter;
import io.micronaut.http.filter.ServerFilterChain;
import io.micronaut.http.server.annotation.PreMatching;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Filters of both kinds, in each place: whatever they do, no method of a submission runs twice. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FiltersTest {

  private static final String SPEC = "FiltersTest";
  private static final String KEY = "Idempotency-Key";
  private static final String DO = "X-Do";
  private static final String CARD = "4111111111111111";

  /** A filter that is late goes on with one of these. */
  private static final Semaphore LATE = new Semaphore(0);

  private static final List<String> FILTERS =
      List.of("outermost", "outer", "middle", "inner", "old-outer", "old-inner");
  private static final List<String> ROUTES = List.of("blocking", "stage", "mono", "response");

  @Introspected
  record Receipt(int run, String card) {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Runs {
    final AtomicInteger count = new AtomicInteger();
    volatile CountDownLatch gate = new CountDownLatch(0);

    Receipt next() {
      Receipt receipt = new Receipt(count.incrementAndGet(), CARD);
      try {
        gate.await(20, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      return receipt;
    }
  }

  @Controller("/filtered")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Runs runs;

    Routes(Runs runs) {
      this.runs = runs;
    }

    @Post("/blocking")
    @Idempotent(maxWait = "100ms")
    @ExecuteOn(TaskExecutors.BLOCKING)
    Receipt blocking() {
      return runs.next();
    }

    @Post("/by-path")
    Receipt byPath() {
      return runs.next();
    }

    @Post("/stage")
    @Idempotent(maxWait = "100ms")
    CompletionStage<Receipt> stage() {
      return CompletableFuture.supplyAsync(runs::next, task -> new Thread(task, "stage").start());
    }

    @Post("/mono")
    @Idempotent(maxWait = "100ms")
    Mono<Receipt> mono() {
      // A cancelled thread would be interrupted, and the method would end.
      return Mono.fromFuture(() -> stage().toCompletableFuture(), true);
    }

    @Post("/other")
    String other() {
      return "run " + runs.next().run();
    }

    @Post("/response")
    @Idempotent(maxWait = "100ms")
    Mono<HttpResponse<Receipt>> response() {
      return mono().map(HttpResponse::created);
    }
  }

  /** What each filter does where a request asks it to. */
  private static Publisher<MutableHttpResponse<?>> filter(
      String name,
      HttpRequest<?> request,
      java.util.function.Function<HttpRequest<?>, Publisher<MutableHttpResponse<?>>> next) {
    String asked =
        Stream.of(request.getHeaders().get(DO, String.class, "").split(","))
            .filter(one -> one.endsWith("@" + name))
            .findFirst()
            .orElse("");
    if (asked.isEmpty()) {
      return next.apply(request);
    }
    return switch (asked.substring(0, asked.indexOf('@'))) {
      case "answer" -> Mono.just(HttpResponse.ok("of the filter"));
      case "mutate" -> next.apply(request.mutate().header("X-Correlation-Id", "1"));
      case "replace" ->
          next.apply(
              HttpRequest.POST(request.getUri(), "{}")
                  .headers(headers -> request.getHeaders().forEachValue(headers::add)));
      case "late" ->
          Mono.fromCallable( // which cannot be cancelled
                  () -> {
                    LATE.acquireUninterruptibly();
                    return name;
                  })
              .subscribeOn(Schedulers.boundedElastic())
              .flatMapMany(any -> next.apply(request));
      case "twice" -> Flux.from(next.apply(request)).flatMap(first -> next.apply(request));
      case "timeout" ->
          Flux.from(next.apply(request))
              .timeout(Duration.ofMillis(300), Schedulers.parallel())
              .onErrorResume(late -> Mono.just(HttpResponse.status(HttpStatus.GATEWAY_TIMEOUT)));
      case "status" ->
          Flux.from(next.apply(request))
              .map(response -> response.status(HttpStatus.SERVICE_UNAVAILABLE));
      case "throw" ->
          Flux.from(next.apply(request))
              .flatMap(response -> Mono.error(new IllegalStateException("of the filter")));
      case "mask" ->
          Flux.from(next.apply(request))
              .map(
                  response ->
                      response.body() instanceof Receipt receipt
                          ? response.body(new Receipt(receipt.run(), "****"))
                          : response);
      case "field" ->
          Flux.from(next.apply(request)).map(response -> response.header("X-Of-Filter", "once"));
      default -> throw new IllegalArgumentException(asked);
    };
  }

  private static Publisher<MutableHttpResponse<?>> filter(
      String name,
      HttpRequest<?> request,
      FilterContinuation<Publisher<MutableHttpResponse<?>>> next) {
    return filter(name, request, changed -> next.request(changed).proceed());
  }

  @ServerFilter("/filtered/**")
  @Requires(property = "spec.name", value = SPEC)
  static class Filters {

    @RequestFilter
    @Order(Ordered.HIGHEST_PRECEDENCE + 1)
    Publisher<MutableHttpResponse<?>> outermost(
        HttpRequest<?> request, FilterContinuation<Publisher<MutableHttpResponse<?>>> next) {
      return filter("outermost", request, next);
    }

    @RequestFilter
    @Order(0)
    Publisher<MutableHttpResponse<?>> outer(
        HttpRequest<?> request, FilterContinuation<Publisher<MutableHttpResponse<?>>> next) {
      return filter("outer", request, next);
    }

    @RequestFilter
    @Order(IdempotencyFilter.ORDER + 5)
    Publisher<MutableHttpResponse<?>> middle(
        HttpRequest<?> request, FilterContinuation<Publisher<MutableHttpResponse<?>>> next) {
      return filter("middle", request, next);
    }

    @RequestFilter
    @Order(Ordered.LOWEST_PRECEDENCE)
    Publisher<MutableHttpResponse<?>> inner(
        HttpRequest<?> request, FilterContinuation<Publisher<MutableHttpResponse<?>>> next) {
      return filter("inner", request, next);
    }
  }

  @ServerFilter("/filtered/moved")
  @Requires(property = "spec.name", value = SPEC)
  static class BeforeTheRoute {

    @PreMatching
    @RequestFilter
    HttpRequest<?> moved(HttpRequest<?> request) {
      return request.mutate().uri(URI.create(HttpService.path("/filtered/mono")));
    }
  }

  @Filter("/filtered/**")
  @Requires(property = "spec.name", value = SPEC)
  static class OldOuter implements HttpServerFilter {

    @Override
    public int getOrder() {
      return -1000;
    }

    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return filter("old-outer", request, chain::proceed);
    }
  }

  @Filter("/filtered/**")
  @Requires(property = "spec.name", value = SPEC)
  static class OldInner implements HttpServerFilter {

    @Override
    public int getOrder() {
      return 100_000;
    }

    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return filter("old-inner", request, chain::proceed);
    }
  }

  private IdempotentService server;

  @BeforeAll
  void start() {
    server =
        IdempotentService.start(
            SPEC,
            Map.of(
                "limiter.idempotency.anonymous-by-address",
                true,
                "limiter.idempotency.routes[0].path",
                "/filtered/by-path",
                "limiter.idempotency.routes[1].path",
                "/filtered/proxied/**"));
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @BeforeEach
  void clear() {
    runs().count.set(0);
    runs().gate = new CountDownLatch(0);
  }

  private Runs runs() {
    return server.bean(Runs.class);
  }

  static Stream<Arguments> filtersAndRoutes() {
    return FILTERS.stream()
        .flatMap(filter -> ROUTES.stream().map(route -> Arguments.of(filter, route)));
  }

  private java.net.http.HttpResponse<String> post(String route, String key, String action) {
    return server.post("/filtered/" + route, "{\"a\":1}", KEY, key, DO, action);
  }

  @ParameterizedTest
  @MethodSource("filtersAndRoutes")
  void aFilterThatAnswersBeforeTheEndOfTheMethodFreesNothing(String filter, String route) {
    String key = UUID.randomUUID().toString();
    runs().gate = new CountDownLatch(1);
    assertThat(post(route, key, "timeout@" + filter).statusCode()).isEqualTo(504);
    assertThat(post(route, key, "none@").statusCode()).as("while it runs").isEqualTo(409);
    runs().gate.countDown();
    await().untilAsserted(() -> assertThat(again(route, key)).contains("answer_unavailable"));
    assertThat(runs().count).hasValue(1);
  }

  private String again(String route, String key) {
    var again = post(route, key, "none@");
    return again.statusCode() + again.body();
  }

  @ParameterizedTest
  @MethodSource("filtersAndRoutes")
  void whatFiltersMakeOfAResponseIsRepeated(String filter, String route) {
    for (String action : List.of("status", "throw", "mask", "field", "mutate")) {
      runs().count.set(0);
      String key = UUID.randomUUID().toString();
      var first = post(route, key, action + "@" + filter);
      var again = post(route, key, action + "@" + filter);
      assertThat(again.statusCode()).as(action).isEqualTo(first.statusCode());
      assertThat(again.body()).as(action).isEqualTo(first.body());
      assertThat(again.headers().allValues("Idempotency-Replayed"))
          .as(action + first.statusCode() + first.body())
          .containsExactly("true");
      assertThat(again.headers().allValues("X-Of-Filter"))
          .isEqualTo(first.headers().allValues("X-Of-Filter"));
      assertThat(first.body().contains(CARD)).isEqualTo(!List.of("mask", "throw").contains(action));
      assertThat(runs().count).as(action).hasValue(1);
    }
  }

  @Test
  void aRouteWithoutKeysRunsWhateverFiltersDo() {
    assertThat(server.post("/filtered/other", "{}").body()).isEqualTo("run 1");
    for (String filter : FILTERS) {
      assertThat(server.post("/filtered/other", "{}", DO, "replace@" + filter).statusCode())
          .as(filter)
          .isEqualTo(200);
    }
  }

  @Test
  void aRequestThatIsMovedToAnotherRouteIsRepeated() {
    String key = UUID.randomUUID().toString();
    var first = post("moved", key, "none@");
    var again = post("moved", key, "none@");
    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(again.body()).isEqualTo(first.body());
    assertThat(server.post("/filtered/moved", "{}", KEY, key).statusCode()).isEqualTo(422);
    assertThat(runs().count).hasValue(1);
  }

  /** Otherwise the method would begin unseen, and its key would be free. */
  @ParameterizedTest
  @MethodSource("filtersAndRoutes")
  void aRequestWithoutTheAttributesOfTheFirstOneDoesNotRun(String filter, String route) {
    String key = UUID.randomUUID().toString();
    assertThat(post(route, key, "replace@" + filter).statusCode()).isEqualTo(500);
    assertThat(runs().count).hasValue(0);
    assertThat(post(route, key, "none@").statusCode()).isIn(200, 201);
    assertThat(runs().count).hasValue(1);
  }

  @ParameterizedTest
  @MethodSource("filtersAndRoutes")
  void aFilterThatAnswersInPlaceOfTheMethodFreesTheKey(String filter, String route) {
    String key = UUID.randomUUID().toString();
    assertThat(post(route, key, "answer@" + filter).body()).isEqualTo("of the filter");
    assertThat(runs().count).hasValue(0);
    assertThat(post(route, key, "none@").statusCode()).isIn(200, 201);
    assertThat(post(route, key, "none@").statusCode()).isIn(200, 201);
    assertThat(runs().count).hasValue(1);
  }

  /** Micronaut then runs all filters once more, for a request whose client has its response. */
  @ParameterizedTest
  @CsvSource({"middle, outer", "inner, outermost", "old-inner, outer", "old-inner, old-outer"})
  void aFilterThatGoesOnAfterTheResponseTakesNoKey(String late, String outer) throws Exception {
    String key = UUID.randomUUID().toString();
    var first = post("mono", key, "late@%s,timeout@%s".formatted(late, outer));
    assertThat(first.statusCode()).isEqualTo(504);
    LATE.release();
    Thread.sleep(300); // for what must not happen
    assertThat(runs().count).hasValue(0);
    assertThat(post("mono", key, "none@").statusCode()).isEqualTo(200);
    assertThat(runs().count).hasValue(1);
  }

  /** As a proxy does: no route of the application has the path. */
  @ParameterizedTest
  @ValueSource(strings = {"inner", "old-inner"})
  void whatAFilterAnswersForAPathOfTheSettingsIsRepeated(String filter) {
    String key = UUID.randomUUID().toString();
    var first = post("proxied/1", key, "answer@" + filter);
    var again = post("proxied/1", key, "answer@" + filter);
    assertThat(first.body()).isEqualTo("of the filter");
    assertThat(first.headers().firstValue("Idempotency-Replayed")).isEmpty();
    assertThat(again.body()).isEqualTo(first.body());
    assertThat(again.headers().firstValue("Idempotency-Replayed")).contains("true");
    assertThat(server.post("/filtered/proxied/1", "{}").statusCode()).isEqualTo(400);
  }

  @ParameterizedTest
  @ValueSource(strings = {"old-outer", "old-inner"})
  void aFilterThatGoesOnTwiceLeavesNoClaim(String filter) {
    for (String route : ROUTES) {
      runs().count.set(0);
      String key = UUID.randomUUID().toString();
      post(route, key, "twice@" + filter);
      var again = post(route, key, "none@");
      assertThat(again.statusCode() + again.body()).as(route).doesNotContain("key_in_use");
      assertThat(runs().count).as(route).hasValue(1);
    }
  }

  @Test
  void aRouteByPathDoesNotRunTwiceForAReplacedRequest() {
    for (String filter : FILTERS) {
      runs().count.set(0);
      String key = UUID.randomUUID().toString();
      post("by-path", key, "replace@" + filter);
      post("by-path", key, "replace@" + filter);
      assertThat(runs().count).as(filter).hasValueLessThanOrEqualTo(1);
      assertThat(post("by-path", UUID.randomUUID().toString(), "none@").statusCode())
          .isEqualTo(200);
    }
  }
}
