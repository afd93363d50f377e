// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import static io.limiter.micronaut.testing.HttpService.settings;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.client.ObeyRateLimits;
import io.limiter.client.ServerRateLimitException;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.overload.Criticality.Level;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.http.context.event.HttpRequestTerminatedEvent;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.server.types.files.StreamedFile;
import io.micronaut.http.sse.Event;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.micronaut.websocket.WebSocketBroadcaster;
import io.micronaut.websocket.annotation.OnMessage;
import io.micronaut.websocket.annotation.ServerWebSocket;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** A server whose routes end when the test says so, and whose limit is one or two. */
class OverloadOverHttpTest {

  private static final String SPEC = "OverloadOverHttpTest";

  /** Routes that are held until the test lets them go. */
  @Controller("/held")
  @Requires(property = "spec.name", value = SPEC)
  static class Held {

    final CountDownLatch gate = new CountDownLatch(1);
    final CompletableFuture<String> later = new CompletableFuture<>();
    final Sinks.Many<String> items = Sinks.many().multicast().onBackpressureBuffer(16, false);
    final AtomicInteger entered = new AtomicInteger();
    volatile String thread = "";

    private String hold() throws InterruptedException {
      thread = Thread.currentThread().getName();
      entered.incrementAndGet();
      assertThat(gate.await(20, TimeUnit.SECONDS)).isTrue();
      return "done";
    }

    @Get("/blocking")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String blocking() throws InterruptedException {
      return hold();
    }

    @Get("/failing")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String failing() throws InterruptedException {
      hold();
      throw new IllegalStateException("failed");
    }

    @Get("/status")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String status() throws InterruptedException {
      hold();
      throw new HttpStatusException(HttpStatus.GATEWAY_TIMEOUT, "late");
    }

    @Get("/stage")
    CompletionStage<String> stage() {
      entered.incrementAndGet();
      return later;
    }

    @Get("/mono")
    Mono<String> mono() {
      entered.incrementAndGet();
      return Mono.fromFuture(later, true);
    }

    @Get(value = "/stream", produces = MediaType.TEXT_EVENT_STREAM)
    Publisher<Event<String>> stream() {
      entered.incrementAndGet();
      return Flux.just("first").concatWith(items.asFlux()).map(Event::of);
    }

    @Get("/free")
    String free() {
      return "free";
    }

    @Get("/file")
    StreamedFile file() {
      return new StreamedFile(
          new ByteArrayInputStream(new byte[1 << 24]), MediaType.APPLICATION_OCTET_STREAM_TYPE);
    }

    @Get("/critical")
    @Criticality(Level.CRITICAL)
    String critical() {
      return "critical";
    }

    @Post(value = "/body", consumes = MediaType.ALL)
    String body(@Body String body) {
      return body;
    }

    @Get("/limited")
    @RateRule(count = 1, time = 3_600)
    String limited() {
      return "limited";
    }

    @Get("/one-at-a-time")
    @ConcurrencyLimit(1)
    String oneAtATime() {
      return "one";
    }
  }

  @ServerWebSocket("/socket")
  @Requires(property = "spec.name", value = SPEC)
  static class Socketed {

    private final WebSocketBroadcaster broadcaster;

    Socketed(WebSocketBroadcaster broadcaster) {
      this.broadcaster = broadcaster;
    }

    @OnMessage
    Publisher<String> message(String text) {
      return broadcaster.broadcast(text);
    }
  }

  /** An inner filter that answers. */
  @ServerFilter("/held/answered")
  @Requires(property = "spec.name", value = SPEC)
  static class Answering {

    @RequestFilter
    io.micronaut.http.HttpResponse<?> answer(HttpRequest<?> request) {
      return io.micronaut.http.HttpResponse.ok("filter");
    }
  }

  /** A limit of one for each criticality below the highest, which may have one and a half. */
  private static HttpService start(Object... more) {
    Map<String, Object> all =
        settings(
            "limiter.overload.enabled", true,
            "limiter.overload.min", 1,
            "limiter.overload.max", 1);
    all.putAll(settings(more));
    return HttpService.start(SPEC, all);
  }

  private static ConcurrencyLimiter limiter(HttpService service) {
    return service.bean(OverloadLimiters.class).http().calls();
  }

  private static void awaitFree(HttpService service) {
    await().until(() -> limiter(service).inFlight() == 0 && limiter(service).waiting() == 0);
  }

  private static CompletableFuture<HttpResponse<String>> held(HttpService service, String route) {
    Held routes = service.bean(Held.class);
    int before = routes.entered.get();
    CompletableFuture<HttpResponse<String>> response = service.getAsync("/held/" + route);
    await().until(() -> routes.entered.get() == before + 1);
    return response;
  }

  private static void letGo(HttpService service) {
    service.bean(Held.class).gate.countDown();
    service.bean(Held.class).later.complete("done");
  }

  @ParameterizedTest
  @ValueSource(strings = {"blocking", "failing", "status", "stage", "mono"})
  void aRequestIsInFlightUntilItsResponseIsWritten(String route) {
    try (HttpService service = start()) {
      CompletableFuture<HttpResponse<String>> first = held(service, route);

      HttpResponse<String> second = service.get("/held/free");

      assertThat(second.statusCode()).isEqualTo(503);
      assertThat(second.headers().firstValue("Retry-After"))
          .hasValueSatisfying(seconds -> assertThat(seconds).isIn("2", "3", "4"));
      assertThat(second.headers().map().keySet()).noneMatch(name -> name.startsWith("ratelimit"));
      assertThat(second.headers().firstValue("Date")).isPresent();
      assertThat(second.body()).contains("The service is busy");
      letGo(service);
      first.join();
      awaitFree(service);
      assertThat(service.status("/held/free")).isEqualTo(200);
    }
  }

  @ObeyRateLimits
  @Client("${service.url}/held")
  @Requires(property = "spec.name", value = "Obedient")
  interface Obedient {

    @Get("/free")
    String free();
  }

  @Test
  void aClientThatObeysRateLimitsObeysARejection() {
    try (HttpService service = start();
        ApplicationContext own =
            ApplicationContext.run(
                settings(
                    "spec.name",
                    "Obedient",
                    "service.url",
                    "http://localhost:" + service.port() + HttpService.path(""),
                    "limiter.client.max-wait",
                    "0s"))) {
      Obedient client = own.getBean(Obedient.class);
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      assertThatThrownBy(client::free)
          .isInstanceOfSatisfying(
              HttpClientResponseException.class, busy -> assertThat(busy.code()).isEqualTo(503));
      letGo(service);
      first.join();
      awaitFree(service);

      // Not sent, since it would be admitted.
      assertThatThrownBy(client::free)
          .isInstanceOfSatisfying(
              ServerRateLimitException.class,
              pause ->
                  assertThat(pause.retryAfter())
                      .isBetween(Duration.ofMillis(1), Duration.ofSeconds(4)));
    }
  }

  @Test
  void theStartDoesNotNameTheFiltersOfTheLimiter() {
    try (RecordedLog log = RecordedLog.ofInfo("io.limiter.micronaut.diagnostics.FilterWarnings");
        HttpService service = start()) {
      assertThat(service.status("/held/limited")).isEqualTo(200);
      assertThat(log.messages()).isEmpty();
    }
  }

  @Test
  void aRequestWaitsForItsTurnWithoutAThread() {
    try (HttpService service = start("limiter.overload.max-wait", "1s")) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      List<CompletableFuture<HttpResponse<String>>> others = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        others.add(service.getAsync("/held/free"));
      }
      await().until(() -> limiter(service).waiting() == 10);

      letGo(service);

      assertThat(first.join().statusCode()).isEqualTo(200);
      assertThat(others).allMatch(other -> other.join().statusCode() == 200);
      awaitFree(service);
    }
  }

  @Test
  void theQueueIsBoundedInNumberAndTheMoreCriticalTakesThePlaceOfTheLess() {
    try (HttpService service =
        start(
            "limiter.overload.max-wait", "1s",
            "limiter.overload.max-waiting", 1,
            "limiter.overload.paths.background", "/held/free")) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      CompletableFuture<HttpResponse<String>> background = service.getAsync("/held/free");
      await().until(() -> limiter(service).waiting() == 1);

      CompletableFuture<HttpResponse<String>> critical = service.getAsync("/held/critical");

      assertThat(background.join().statusCode()).isEqualTo(503);
      assertThat(service.status("/held/free")).isEqualTo(503);
      letGo(service);
      assertThat(critical.join().statusCode()).isEqualTo(200);
      assertThat(first.join().statusCode()).isEqualTo(200);
      assertThat(limiter(service).shed(Level.BACKGROUND)).isEqualTo(2);
    }
  }

  @Test
  void aClientThatLeavesWhileItWaitsFreesItsPlace() throws Exception {
    try (HttpService service =
        start("limiter.overload.max-wait", "1s", "limiter.overload.max-waiting", 1)) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      try (Socket leaver = service.open("/held/free")) {
        await().until(() -> limiter(service).waiting() == 1);
      }
      await().until(() -> limiter(service).waiting() == 0);
      CompletableFuture<HttpResponse<String>> other = service.getAsync("/held/free");
      await().until(() -> limiter(service).waiting() == 1);
      letGo(service);
      assertThat(first.join().statusCode()).isEqualTo(200);
      assertThat(other.join().statusCode()).isEqualTo(200);
      awaitFree(service);
      assertThat(limiter(service).shed(Level.NORMAL)).isZero();
    }
  }

  @Test
  void aRequestThatPassesTheFiltersOnceMoreIsCountedOnce() {
    try (HttpService service = start()) {
      OverloadFilter filter = service.bean(OverloadFilter.class);
      HttpRequest<?> request = HttpRequest.GET("/held/free");
      assertThat(filter.arrived(request)).isCompletedWithValue(Optional.empty());
      assertThat(filter.arrived(request)).isCompletedWithValue(Optional.empty());
      assertThat(limiter(service).inFlight()).isEqualTo(1);

      filter.onApplicationEvent(new HttpRequestTerminatedEvent(request));

      assertThat(limiter(service).inFlight()).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"blocking", "stage", "mono"})
  void aRequestWhoseClientHasLeftIsInFlightUntilItsMethodEnds(String route) throws Exception {
    try (HttpService service = start()) {
      Held routes = service.bean(Held.class);
      try (Socket leaver = service.open("/held/" + route)) {
        await().until(() -> routes.entered.get() == 1);
      }
      assertThat(limiter(service).inFlight()).isEqualTo(1);
      letGo(service);
      awaitFree(service);
      assertThat(service.status("/held/free")).isEqualTo(200);
    }
  }

  @Test
  void aClientThatLeavesBeforeItsBodyIsThereFreesItsPlace() throws Exception {
    try (HttpService service = start("test.at-root", true)) {
      try (Socket leaver =
          service.openWith(
              "POST /held/body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf")) {
        await().until(() -> limiter(service).inFlight() == 1);
      }
      awaitFree(service);
    }
  }

  @Test
  void aStreamIsInFlightUntilItBegins() throws Exception {
    try (HttpService service = start()) {
      try (Socket stream = service.open("/held/stream")) {
        readUntil(stream, "first");
        awaitFree(service);
        assertThat(service.status("/held/free")).isEqualTo(200);
      }
    }
  }

  @Test
  void aStreamIsInFlightUntilItEndsWhereThatIsSet() throws Exception {
    try (HttpService service = start("limiter.overload.streams", true)) {
      try (Socket stream = service.open("/held/stream")) {
        readUntil(stream, "first");
        assertThat(service.status("/held/free")).isEqualTo(503);
      }
      awaitFree(service);
      try (Socket stream = service.open("/held/stream")) {
        readUntil(stream, "first");
        service.bean(Held.class).items.tryEmitComplete();
        awaitFree(service);
      }
      assertThat(service.bean(OverloadLimiters.class).http().algorithm().figure()).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aWebSocketIsInFlightUntilItEndsWhereThatIsSet(boolean counts) {
    try (HttpService service = start("limiter.overload.streams", counts)) {
      WebSocket socket =
          HttpClient.newHttpClient()
              .newWebSocketBuilder()
              .buildAsync(
                  URI.create("ws://localhost:" + service.port() + HttpService.path("/socket")),
                  new WebSocket.Listener() {})
              .join();
      if (counts) {
        assertThat(limiter(service).inFlight()).isEqualTo(1);
        assertThat(service.status("/held/free")).isEqualTo(503);
      } else {
        awaitFree(service);
      }
      socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
      awaitFree(service);
    }
  }

  @Test
  void aRequestForAWebSocketWhereThereIsNoneFreesItsPlace() throws Exception {
    try (HttpService service = start("limiter.overload.streams", true)) {
      for (String path : List.of("/held/free", "/held/nowhere")) {
        try (Socket client =
            service.open(
                path,
                "Upgrade",
                "websocket",
                "Connection",
                "Upgrade",
                "Sec-WebSocket-Key",
                "dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Version",
                "13")) {
          readUntil(client, "HTTP/1.1");
          awaitFree(service);
        }
      }
    }
  }

  private static void readUntil(Socket connection, String text) throws Exception {
    StringBuilder read = new StringBuilder();
    while (!read.toString().contains(text)) {
      int next = connection.getInputStream().read();
      assertThat(next).isNotNegative();
      read.append((char) next);
    }
  }

  @Test
  void anAnswerOfAFilterAndAMistakeOfTheClientFreeThePlace() {
    try (HttpService service = start()) {
      assertThat(service.status("/held/answered")).isEqualTo(200);
      assertThat(service.status("/held/nowhere")).isEqualTo(404);
      assertThat(service.exchange("DELETE", "/held/free", "").statusCode()).isEqualTo(405);
      assertThat(service.exchange("HEAD", "/held/free", "").statusCode()).isEqualTo(200);
      assertThat(service.exchange("OPTIONS", "/held/free", "").statusCode()).isEqualTo(405);
      awaitFree(service);
    }
  }

  @Test
  void endpointsAndExemptPathsAreNeitherCountedNorRejected() {
    try (HttpService service =
        start("endpoints.health.sensitive", false, "limiter.overload.paths.exempt", "/held/free")) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      assertThat(service.status("/health")).isEqualTo(200);
      assertThat(service.status("/held/free")).isEqualTo(200);
      assertThat(service.status("/held/limited")).isEqualTo(503);
      letGo(service);
      first.join();
    }
  }

  @Test
  void healthChecksAloneRejectNothingAndLeaveTheLimit() {
    try (HttpService service = start("endpoints.health.sensitive", false)) {
      int limit = limiter(service).limit();
      List<CompletableFuture<HttpResponse<String>>> checks =
          Stream.generate(() -> service.getAsync("/health")).limit(100).toList();

      assertThat(checks).allSatisfy(check -> assertThat(check.join().statusCode()).isEqualTo(200));
      assertThat(limiter(service).limit()).isEqualTo(limit);
      assertThat(limiter(service).inFlight()).isZero();
      assertThat(service.bean(OverloadLimiters.class).http().shed()).isZero();
      assertThat(service.bean(OverloadLimiters.class).http().algorithm().figure())
          .as("no samples")
          .isZero();
    }
  }

  /** The executor for blocking tasks has virtual threads there. */
  @Test
  @EnabledForJreRange(min = JRE.JAVA_21)
  void requestsOnVirtualThreadsAreCounted() {
    try (HttpService service = start()) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");

      assertThat(service.bean(Held.class).thread).startsWith("virtual-executor-");
      assertThat(limiter(service).inFlight()).isEqualTo(1);
      assertThat(service.status("/held/free")).isEqualTo(503);
      letGo(service);
      assertThat(first.join().statusCode()).isEqualTo(200);
      awaitFree(service);
    }
  }

  @Test
  void aRejectedRequestTakesNothingFromALimit() {
    try (HttpService service = start()) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      assertThat(service.status("/held/limited")).isEqualTo(503);
      assertThat(service.status("/held/limited")).isEqualTo(503);
      letGo(service);
      first.join();
      awaitFree(service);
      assertThat(service.status("/held/limited")).isEqualTo(200);
      assertThat(service.status("/held/limited")).isEqualTo(429);
    }
  }

  @Test
  void aRejectedRequestTakesNoPermit() {
    try (HttpService service = start()) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      assertThat(service.status("/held/one-at-a-time")).isEqualTo(503);
      letGo(service);
      first.join();
      awaitFree(service);
      assertThat(service.status("/held/one-at-a-time")).isEqualTo(200);
    }
  }

  @Test
  void aBlockedCallerIsRejectedAsSuch() {
    try (HttpService service = start("limiter.block.addresses", "127.0.0.1,::1")) {
      ConcurrencyLimiter.Permit all = limiter(service).tryBegin(Level.NORMAL);
      assertThat(all).isNotNull();
      assertThat(service.status("/held/free")).isEqualTo(403);
      assertThat(limiter(service).shed(Level.NORMAL)).isZero();
      all.end();
      assertThat(service.status("/held/free")).isEqualTo(403);
    }
  }

  @Test
  void aMoreCriticalRequestFindsRoom() {
    try (HttpService service = start("limiter.overload.min", 2, "limiter.overload.max", 2)) {
      CompletableFuture<HttpResponse<String>> one = held(service, "blocking");
      CompletableFuture<HttpResponse<String>> two = held(service, "blocking");
      assertThat(service.status("/held/free")).isEqualTo(503);
      assertThat(service.status("/held/critical")).isEqualTo(200);
      letGo(service);
      one.join();
      two.join();
    }
  }

  @Test
  void theHeaderOfATrustedCallerStatesTheCriticality() {
    try (HttpService service =
        start(
            "limiter.overload.min", 2,
            "limiter.overload.max", 2,
            "limiter.overload.trusted", "127.0.0.1,::1")) {
      CompletableFuture<HttpResponse<String>> one = held(service, "blocking");
      CompletableFuture<HttpResponse<String>> two = held(service, "blocking");
      assertThat(service.status("/held/free", "X-Criticality", "Critical")).isEqualTo(200);
      assertThat(service.status("/held/free", "X-Criticality", "urgent")).isEqualTo(503);
      assertThat(service.status("/held/critical", "X-Criticality", "low")).isEqualTo(503);
      letGo(service);
      one.join();
      two.join();
    }
  }

  @Test
  void theHeaderOfOthersIsIgnored() {
    try (HttpService service =
        start(
            "limiter.overload.min", 2,
            "limiter.overload.max", 2,
            "limiter.overload.trusted", "192.0.2.0/24")) {
      CompletableFuture<HttpResponse<String>> one = held(service, "blocking");
      CompletableFuture<HttpResponse<String>> two = held(service, "blocking");
      assertThat(service.status("/held/free", "X-Criticality", "critical")).isEqualTo(503);
      letGo(service);
      one.join();
      two.join();
    }
  }

  @Test
  void whatIsObservedIsCountedAndNotRejected() {
    try (HttpService service = start("limiter.overload.observe", true)) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      assertThat(service.status("/held/free")).isEqualTo(200);
      assertThat(limiter(service).shed(Level.NORMAL)).isEqualTo(1);
      letGo(service);
      first.join();
      awaitFree(service);
    }
  }

  @Test
  void theAnswerIsAProblemOfTheDraft() {
    try (HttpService service = start("limiter.denial.body", "problem")) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      HttpResponse<String> answer = service.get("/held/free");
      assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
      assertThat(answer.body())
          .contains(
              "\"type\":\"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity\"",
              "\"title\":\"Temporary Reduced Capacity\"",
              "\"status\":503",
              "\"code\":\"temporary_reduced_capacity\"");
      assertThat(service.get("/held/free", "Accept-Language", "zh").body()).contains("服务繁忙");
      letGo(service);
      first.join();
    }
  }

  @Test
  void requestsOfOneConnectionAreAnsweredInTheirOrder() throws Exception {
    try (HttpService service = start("test.at-root", true)) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      String request = "GET /held/free HTTP/1.1\r\nHost: localhost\r\n\r\n";
      try (Socket pipelined = service.openWith(request.repeat(5))) {
        for (int i = 0; i < 5; i++) {
          readUntil(pipelined, "503");
        }
      }
      letGo(service);
      first.join();
      awaitFree(service);
      try (Socket pipelined = service.openWith(request.repeat(5))) {
        for (int i = 0; i < 5; i++) {
          readUntil(pipelined, "\r\n\r\nfree");
        }
      }
      awaitFree(service);
    }
  }

  @Test
  void aScriptOfAnotherOriginMayReadARejection() {
    try (HttpService service =
        start(
            "micronaut.server.cors.enabled",
            true,
            "micronaut.server.cors.configurations.web.allowed-origins",
            "https://example.com",
            "micronaut.server.cors.configurations.web.exposed-headers",
            "Retry-After",
            "micronaut.server.cors.localhost-pass-through",
            true)) {
      CompletableFuture<HttpResponse<String>> first = held(service, "blocking");
      HttpResponse<String> answer = service.get("/held/free", "Origin", "https://example.com");
      assertThat(answer.statusCode()).isEqualTo(503);
      assertThat(answer.headers().allValues("Access-Control-Allow-Origin"))
          .containsExactly("https://example.com");
      assertThat(answer.headers().allValues("Access-Control-Expose-Headers"))
          .containsExactly("Retry-After");
      assertThat(service.get("/held/free", "Origin", "https://example.org").headers().map())
          .doesNotContainKey("access-control-allow-origin");
      letGo(service);
      first.join();
    }
  }

  @Test
  void aStreamOfHttp2ThatIsResetFreesItsPlace() throws Exception {
    try (HttpService service =
        start("micronaut.server.http-version", "2.0", "limiter.overload.streams", true)) {
      HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
      HttpResponse<InputStream> stream =
          client.send(request(service, "/held/stream"), BodyHandlers.ofInputStream());
      assertThat(stream.version()).isEqualTo(HttpClient.Version.HTTP_2);
      assertThat(stream.body().read()).isNotNegative();
      assertThat(limiter(service).inFlight()).isEqualTo(1);
      stream.body().close(); // resets the stream; the connection stays

      awaitFree(service);
      assertThat(client.send(request(service, "/held/free"), BodyHandlers.ofString()).statusCode())
          .isEqualTo(200);
    }
  }

  @Test
  void requestsOverHttp2AreCounted() throws Exception {
    try (HttpService service = start("micronaut.server.http-version", "2.0")) {
      HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
      CompletableFuture<HttpResponse<String>> first =
          client.sendAsync(request(service, "/held/blocking"), BodyHandlers.ofString());
      await().until(() -> service.bean(Held.class).entered.get() == 1);
      HttpResponse<String> second =
          client.send(request(service, "/held/free"), BodyHandlers.ofString());
      assertThat(second.statusCode()).isEqualTo(503);
      letGo(service);
      assertThat(first.join().statusCode()).isEqualTo(200);
      assertThat(first.join().version()).isEqualTo(HttpClient.Version.HTTP_2);
      awaitFree(service);
    }
  }

  @Test
  void aFileWhoseStreamOfHttp2IsResetFreesItsPlace() throws Exception {
    try (HttpService service = start("micronaut.server.http-version", "2.0")) {
      HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
      HttpResponse<InputStream> file =
          client.send(request(service, "/held/file"), BodyHandlers.ofInputStream());
      assertThat(file.version()).isEqualTo(HttpClient.Version.HTTP_2);
      assertThat(file.body().read()).isZero();
      file.body().close(); // resets the stream; the connection stays

      awaitFree(service);
      assertThat(client.send(request(service, "/held/free"), BodyHandlers.ofString()).statusCode())
          .isEqualTo(200);
    }
  }

  private static java.net.http.HttpRequest request(HttpService service, String path) {
    return java.net.http.HttpRequest.newBuilder(
            URI.create("http://localhost:" + service.port() + HttpService.path(path)))
        .build();
  }
}
