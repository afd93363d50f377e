// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static io.limiter.micronaut.testing.HttpService.field;
import static java.time.format.DateTimeFormatter.RFC_1123_DATE_TIME;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.testing.Sources;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.aop.Around;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.async.annotation.SingleResult;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.server.types.files.StreamedFile;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Routes that run once for each Idempotency-Key, and repeat their answers. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RepetitionsTest {

  private static final String SPEC = "RepetitionsTest";
  private static final String KEY = "Idempotency-Key";
  private static final String REPLAYED = "Idempotency-Replayed";

  private static final String SETTINGS =
      """
      limiter:
        idempotency:
          max-answer: 2000
          max-body: 1000
          anonymous-by-address: true
          routes:
            - {path: "/replay/routed", methods: [POST], retain: 1h}
            - {path: "/replay/owned/**", resolver: tenant, retain: 1h}
      """;

  /** How often each route has run, and what holds one of them back. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Runs {
    final AtomicInteger count = new AtomicInteger();
    volatile CountDownLatch gate = new CountDownLatch(0);

    int next() {
      return count.incrementAndGet();
    }
  }

  @Introspected
  record Payment(int number, String item) {}

  @Around
  @Retention(RetentionPolicy.RUNTIME)
  @interface OtherThread {}

  /** Around the methods of submissions, and on a thread that does not know the request. */
  @InterceptorBean(OtherThread.class)
  static class ToOtherThread implements MethodInterceptor<Object, Object> {

    @Override
    public int getOrder() {
      return -5_000;
    }

    @Override
    public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
      CompletableFuture<@Nullable Object> result = new CompletableFuture<>();
      new Thread(() -> result.complete(context.proceed()), "other").start();
      return result.join();
    }
  }

  @Controller("/accounts/{account}")
  @Requires(property = "spec.name", value = SPEC)
  static class OfAccounts {

    private final Runs runs;

    OfAccounts(Runs runs) {
      this.runs = runs;
    }

    @Post("/pay")
    @Idempotent(subject = "#{account}")
    String pay(String account, @Body Payment payment) {
      return account + " " + runs.next();
    }

    @Post("/wire")
    @Idempotent(subject = "#{account + '/' + branch}")
    String wire(String account, @QueryValue int branch, @Body Payment payment) {
      return account + branch + " " + runs.next();
    }
  }

  /** An expression over arguments of the head. */
  @Test
  void aKeyBelongsToTheValueOfItsSubject() {
    String body = "{\"number\":1,\"item\":\"tea\"}";
    for (String route : List.of("/accounts/%s/pay", "/accounts/%s/wire?branch=7")) {
      String key = UUID.randomUUID().toString();
      var first = server.post(route.formatted("a%20b"), body, KEY, key);
      assertThat(first.statusCode()).isEqualTo(200);
      assertThat(first.body()).startsWith("a b");
      var again = server.post(route.formatted("a%20b"), body, KEY, key);
      assertThat(again.body()).isEqualTo(first.body());
      assertThat(again.headers().firstValue(REPLAYED)).contains("true");
      var other = server.post(route.formatted("c"), body, KEY, key);
      assertThat(other.body()).as("the same key of another owner").startsWith("c");
      assertThat(other.headers().firstValue(REPLAYED)).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/accounts/a/wire", "/accounts/a/wire?branch=x", "/accounts/%20/pay"})
  void aRequestWithoutItsOwnerIsRefused(String path) {
    var response = server.post(path, "{\"number\":1,\"item\":\"tea\"}", KEY, "1");
    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("idempotency_key_anonymous");
  }

  @Controller("/replay")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Runs runs;

    Routes(Runs runs) {
      this.runs = runs;
    }

    @Post("/created")
    @Idempotent
    HttpResponse<Payment> created(@Body Map<String, Object> body) {
      int run = runs.next();
      return HttpResponse.created(new Payment(run, String.valueOf(body.get("item"))))
          .header("Location", "/payments/" + run)
          .header("Set-Cookie", "run=" + run)
          .header("X-Run", "" + run);
    }

    @Post("/fields")
    @Idempotent
    HttpResponse<byte[]> fields() {
      runs.next();
      return HttpResponse.ok(new byte[] {31, -117, 8})
          .contentType(MediaType.APPLICATION_JSON_TYPE)
          .header("Content-Encoding", "gzip")
          .header("Content-Disposition", "attachment")
          .header("X-Content-Type-Options", "nosniff")
          .header("Content-Security-Policy", "sandbox")
          .header("Cache-Control", "no-store")
          .header("Vary", "Accept")
          .header("Vary", "Origin")
          .header("ETag", "\"1\"")
          .header("Date", "Thu, 1 Jan 1970 00:00:00 GMT");
    }

    @Post("/outlives")
    @Idempotent(claim = "1s", retain = "1s", maxWait = "0s")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String outlives() throws InterruptedException {
      return held();
    }

    @Post(value = "/streamed", consumes = "*/*")
    @Idempotent
    @ExecuteOn(TaskExecutors.BLOCKING)
    String streamed(@Body InputStream body) throws IOException {
      return body.readAllBytes().length + " bytes in run " + runs.next();
    }

    @Post("/plain")
    @Idempotent
    Payment plain() {
      return new Payment(runs.next(), "täglich");
    }

    @Post(value = "/text", produces = "text/plain;charset=ISO-8859-1")
    @Idempotent
    String text() {
      return runs.next() + " ü";
    }

    @Post(value = "/bytes", produces = MediaType.APPLICATION_OCTET_STREAM)
    @Idempotent
    byte[] bytes() {
      return new byte[] {(byte) runs.next(), 1, 2};
    }

    @Post("/nothing")
    @Idempotent
    void nothing() {
      runs.next();
    }

    @Post("/stage")
    @Idempotent
    CompletionStage<Payment> stage() {
      return CompletableFuture.supplyAsync(() -> new Payment(runs.next(), "stage"));
    }

    @Post("/mono")
    @Idempotent
    Mono<Payment> mono() {
      return Mono.fromSupplier(() -> new Payment(runs.next(), "mono"));
    }

    @Post("/early")
    @Idempotent(retain = "1h")
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1_000), early = true)
    @RateLimiter(
        value = "arguments",
        rules = @RateRule(count = 1_000, subject = "#{body.get('item')}"))
    String withArguments(@Body Map<String, Object> body) {
      return "run " + runs.next();
    }

    @Post("/routed")
    String routed() {
      return "run " + runs.next();
    }

    @Post("/owned/{part}")
    String owned(String part) {
      return "run " + runs.next();
    }

    @Post("/held")
    @Idempotent(maxWait = "20s")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String held() throws InterruptedException {
      int run = runs.next();
      runs.gate.await(20, TimeUnit.SECONDS);
      return "run " + run;
    }

    @Post("/impatient")
    @Idempotent(maxWait = "150ms")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String impatient() throws InterruptedException {
      int run = runs.next();
      runs.gate.await(20, TimeUnit.SECONDS);
      return "run " + run;
    }

    @Post("/status/{status}")
    @Idempotent
    HttpResponse<String> status(int status) {
      return HttpResponse.<String>status(HttpStatus.valueOf(status)).body("run " + runs.next());
    }

    @Post("/named/{status}")
    @Idempotent(releaseOn = 402)
    HttpResponse<String> named(int status) {
      return HttpResponse.<String>status(HttpStatus.valueOf(status)).body("run " + runs.next());
    }

    @Post("/broken")
    @Idempotent
    Object broken() {
      Map<String, Object> endless = new HashMap<>();
      endless.put("run " + runs.next(), endless);
      return endless;
    }

    @Post("/throws")
    @Idempotent
    String fails() {
      throw new HttpStatusException(HttpStatus.NOT_FOUND, "run " + runs.next());
    }

    @Post("/limited")
    @Idempotent
    @RateRule(count = 1, time = 60)
    String limited() {
      return "run " + runs.next();
    }

    @Post("/optional")
    @Idempotent(required = false)
    String optional() {
      return "run " + runs.next();
    }

    @Post("/large")
    @Idempotent
    String large() {
      return runs.next() + "x".repeat(2_001);
    }

    @Post("/file")
    @Idempotent
    HttpResponse<?> file() {
      byte[] content = ("run " + runs.next()).getBytes(StandardCharsets.UTF_8);
      return HttpResponse.ok(
          new StreamedFile(new ByteArrayInputStream(content), MediaType.TEXT_PLAIN_TYPE));
    }

    @Get("/seen")
    @Idempotent
    String seen(@QueryValue @Nullable String of) {
      return "run " + runs.next() + " of " + of;
    }

    @Get("/leaving/blocking")
    @Idempotent
    @ExecuteOn(TaskExecutors.BLOCKING)
    String leaving() throws InterruptedException {
      return held();
    }

    @Get("/leaving/stage")
    @Idempotent
    @ExecuteOn(TaskExecutors.BLOCKING)
    CompletionStage<String> leavingStage() {
      return CompletableFuture.supplyAsync(this::await);
    }

    @Get("/leaving/mono")
    @Idempotent
    Mono<String> leavingMono() {
      return Mono.fromCallable(this::held).subscribeOn(Schedulers.boundedElastic());
    }

    private String await() {
      try {
        return held();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Post("/responses")
    @Idempotent
    Flux<HttpResponse<Payment>> responses() {
      return Flux.defer(() -> Flux.just(HttpResponse.created(new Payment(runs.next(), "flux"))));
    }

    @Post("/single")
    @Idempotent
    @SingleResult
    Flux<Payment> single() {
      return Flux.defer(() -> Flux.just(new Payment(runs.next(), "single")));
    }

    @Post("/untyped/{status}")
    @Idempotent
    Object untyped(int status) {
      return Mono.fromSupplier(
          () -> {
            if (status == 404) {
              throw new HttpStatusException(HttpStatus.NOT_FOUND, "run " + runs.next());
            }
            return status(status);
          });
    }

    @Post("/empty")
    @Idempotent
    HttpResponse<String> empty() {
      runs.next();
      return HttpResponse.ok("");
    }

    @Post("/items")
    @Idempotent
    HttpResponse<?> items() {
      return HttpResponse.ok(Flux.just("run " + runs.next(), "more"));
    }

    @Post("/hopping")
    @Idempotent
    @OtherThread
    @ExecuteOn(TaskExecutors.BLOCKING)
    String hopping() {
      return "run " + runs.next();
    }

    @Post("/enum/{status}")
    @Idempotent
    HttpStatus status(HttpStatus status) {
      runs.next();
      return status;
    }

    @Post("/present/{status}")
    @Idempotent
    Mono<Optional<HttpResponse<String>>> present(int status) {
      return Mono.fromSupplier(() -> Optional.of(status(status)));
    }

    @Post("/parts")
    @Idempotent
    MutableHttpResponse<String> parts() {
      return HttpResponse.ok("run " + runs.next());
    }
  }

  @Singleton
  @Named("tenant")
  @Requires(property = "spec.name", value = SPEC)
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(io.micronaut.http.HttpRequest<?> request) {
      return request.getHeaders().findFirst("X-Tenant");
    }
  }

  private IdempotentService server;

  @BeforeAll
  void start() {
    server = IdempotentService.start(SPEC, settings());
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @BeforeEach
  void clear() {
    server.clear();
    runs().count.set(0);
    runs().gate = new CountDownLatch(0);
  }

  private Runs runs() {
    return server.bean(Runs.class);
  }

  private static Map<String, Object> settings() {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(SETTINGS));
    settings.put("micronaut.metrics.enabled", true);
    settings.put("endpoints.idempotency.enabled", true);
    settings.put("endpoints.idempotency.sensitive", false);
    return settings;
  }

  private static String newKey() {
    return UUID.randomUUID().toString();
  }

  private java.net.http.HttpResponse<String> post(String path, String key) {
    return server.post("/replay/" + path, "{\"item\":\"tea\"}", KEY, key);
  }

  private CompletableFuture<java.net.http.HttpResponse<String>> postAsync(String path, String key) {
    return server.postAsync("/replay/" + path, "{\"item\":\"tea\"}", KEY, key);
  }

  @Test
  void aRepetitionReceivesWhatTheFirstClientGot() {
    String key = newKey();
    var first = post("created", key);
    assertThat(first.statusCode()).isEqualTo(201);
    assertThat(first.headers().firstValue(REPLAYED)).isEmpty();

    var again = post("created", '"' + key + '"'); // a quoted string is the same key
    assertThat(again.statusCode()).isEqualTo(201);
    assertThat(again.body()).isEqualTo(first.body()).contains("\"number\":1");
    assertThat(field(again, "Content-Type")).isEqualTo(field(first, "Content-Type"));
    assertThat(field(again, "Location")).isEqualTo("/payments/1");
    assertThat(field(again, "X-Run")).isEqualTo("1");
    assertThat(field(again, REPLAYED)).isEqualTo("true");
    assertThat(again.headers().map()).doesNotContainKey("set-cookie");
    assertThat(runs().count).hasValue(1);

    assertThat(post("created", newKey()).body()).contains("\"number\":2");
    assertThat(results("first")).isGreaterThanOrEqualTo(2);
    assertThat(results("replayed")).isGreaterThanOrEqualTo(1);
  }

  /** The requests with this result; the meter is one of those of the whole service. */
  private double results(String result) {
    return server
        .bean(MeterRegistry.class)
        .get("limiter.idempotency")
        .tag("result", result)
        .counters()
        .stream()
        .mapToDouble(Counter::count)
        .sum();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "plain",
        "text",
        "bytes",
        "nothing",
        "empty",
        "stage",
        "mono",
        "single",
        "responses",
        "early",
        "routed",
        "held",
        "hopping"
      })
  void eachKindOfResultIsRepeatedByteForByte(String route) {
    String key = newKey();
    var first = post(route, key);
    var again = post(route, key);
    assertThat(first.statusCode()).isEqualTo(route.equals("responses") ? 201 : 200);
    assertThat(again.statusCode()).isEqualTo(first.statusCode());
    assertThat(again.body()).isEqualTo(first.body());
    assertThat(again.headers().allValues("Content-Type"))
        .isEqualTo(first.headers().allValues("Content-Type"));
    assertThat(field(again, REPLAYED)).isEqualTo("true");
    assertThat(runs().count).hasValue(1);
  }

  @Test
  void aKeyBelongsToOneRequest() {
    String key = newKey();
    var first = server.exchange("GET", "/replay/seen?of=a", "", KEY, key);
    assertThat(first.body()).isEqualTo("run 1 of a");
    for (var other :
        List.of(
            server.exchange("GET", "/replay/seen?of=b", "", KEY, key),
            server.exchange("GET", "/replay/seen?of=a&of=b", "", KEY, key),
            server.exchange("GET", "/replay/seen?of=a", "body", KEY, key))) {
      assertThat(other.statusCode()).isEqualTo(422);
      assertThat(other.body())
          .contains("was used for another request", "\"logref\":\"idempotency_key_reused\"");
    }
    assertThat(server.exchange("GET", "/replay/seen?of=a", "", KEY, key).body())
        .isEqualTo("run 1 of a");
    assertThat(runs().count).hasValue(1);

    String other = newKey();
    assertThat(post("created", other).statusCode()).isEqualTo(201);
    assertThat(server.post("/replay/created", "{\"item\": \"tea\"}", KEY, other).statusCode())
        .isEqualTo(422);
    assertThat(post("plain", other).statusCode()).as("another route").isEqualTo(200);
  }

  @Test
  void repetitionsWaitForTheFirstAnswer() {
    String key = newKey();
    runs().gate = new CountDownLatch(1);
    List<CompletableFuture<java.net.http.HttpResponse<String>>> all = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      all.add(postAsync("held", key));
    }
    await().until(() -> runs().count.get() == 1);
    runs().gate.countDown();

    assertThat(all)
        .extracting(CompletableFuture::join)
        .allSatisfy(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(200);
              assertThat(answer.body()).isEqualTo("run 1");
            });
    assertThat(server.post("/replay/held", "other", KEY, key).statusCode()).isEqualTo(422);
    assertThat(runs().count).hasValue(1);
  }

  /** The titles are those of the draft, also in an application in another language. */
  @Test
  void problemsLinkToADocumentAndHaveTheTitlesOfTheDraft() {
    String draft =
        "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07#section-2.7";
    for (String type : List.of(draft, "/docs/keys")) {
      Map<String, Object> settings = settings();
      settings.put("limiter.denial.body", "problem");
      if (!type.equals(draft)) {
        settings.put("limiter.idempotency.problem-type", type);
      }
      try (IdempotentService problems = IdempotentService.start(SPEC, settings)) {
        String key = newKey();
        String path = "/replay/impatient";
        Runs runs = problems.bean(Runs.class);
        runs.gate = new CountDownLatch(1);
        var first = problems.exchangeAsync("POST", path, "tea", KEY, key);
        await().until(() -> runs.count.get() == 1);

        assertProblem(problems.post(path, "tea"), 400, type, "Idempotency-Key is missing");
        assertProblem(
            problems.post(path, "tea", KEY, "\""), 400, type, "Idempotency-Key is malformed");
        assertProblem(
            problems.post(path, "tea", KEY, key, "Accept-Language", "zh"),
            409,
            type,
            "A request is outstanding for this Idempotency-Key");
        runs.gate.countDown();
        assertThat(first.join().statusCode()).isEqualTo(200);
        assertProblem(
            problems.post(path, "rum", KEY, key), 422, type, "Idempotency-Key is already used");

        problems.post("/replay/file", "", KEY, key);
        assertProblem(problems.post("/replay/file", "", KEY, key), 409, "about:blank", "Conflict");
      }
    }
  }

  private static void assertProblem(
      java.net.http.HttpResponse<String> answer, int status, String type, String title) {
    assertThat(answer.statusCode()).isEqualTo(status);
    assertThat(field(answer, "Content-Type")).isEqualTo("application/problem+json");
    assertThat(answer.body())
        .startsWith(
            "{\"type\":\"%s\",\"title\":\"%s\",\"status\":%s,".formatted(type, title, status));
  }

  @ParameterizedTest
  @ValueSource(strings = {"blocking", "stage", "mono"})
  void aClientThatLeavesFindsItsAnswer(String result) throws Exception {
    String key = newKey();
    runs().gate = new CountDownLatch(1);
    try (Socket client = server.open("/replay/leaving/" + result, KEY, key)) {
      await().until(() -> runs().count.get() == 1);
    }
    Thread.sleep(200); // the server sees that it has left
    var again = server.exchangeAsync("GET", "/replay/leaving/" + result, "", KEY, key);
    runs().gate.countDown();
    assertThat(again.join().body()).isEqualTo("run 1");
    assertThat(runs().count).hasValue(1);
  }

  @Test
  void aRepetitionWaitsNoLongerThanItsTime() {
    String key = newKey();
    runs().gate = new CountDownLatch(1);
    var first = postAsync("impatient", key);
    await().until(() -> runs().count.get() == 1);

    var again = post("impatient", key);
    assertThat(again.statusCode()).isEqualTo(409);
    assertThat(again.body())
        .contains("is still processed", "\"logref\":\"idempotency_key_in_use\"");
    assertThat(field(again, "Retry-After")).isEqualTo("1");

    runs().gate.countDown();
    assertThat(first.join().body()).isEqualTo("run 1");
    assertThat(post("impatient", key).body()).isEqualTo("run 1");
  }

  @ParameterizedTest
  @CsvSource({
    "status/204, true",
    "status/303, true",
    "status/404, true",
    "status/422, true",
    "status/401, false",
    "status/409, false",
    "status/429, false",
    "status/500, false",
    "status/503, false",
    "named/402, false",
    "named/409, true",
    "named/500, false",
    "enum/ACCEPTED, true",
    "enum/CONFLICT, false",
    "enum/SERVICE_UNAVAILABLE, false",
    "present/404, true",
    "present/503, false",
    "untyped/201, true",
    "untyped/404, false",
    "untyped/503, false"
  })
  void someStatusesAreKept(String route, boolean kept) {
    String key = newKey();
    int status = post(route, key).statusCode();
    var again = post(route, key);
    assertThat(again.statusCode()).isEqualTo(status);
    assertThat(again.headers().firstValue(REPLAYED).isPresent()).isEqualTo(kept);
    assertThat(runs().count).hasValue(kept ? 1 : 2);
  }

  @Test
  void anExceptionReleasesTheKey() {
    String key = newKey();
    assertThat(post("throws", key).statusCode()).isEqualTo(404);
    assertThat(post("throws", key).statusCode()).isEqualTo(404);
    assertThat(runs().count).hasValue(2);
  }

  @Test
  void aRepetitionTakesNothingFromTheLimits() {
    String key = newKey();
    assertThat(post("limited", key).statusCode()).isEqualTo(200);
    String denied = newKey();
    assertThat(post("limited", denied).statusCode()).isEqualTo(429);
    assertThat(post("limited", denied).statusCode()).as("a denial is not kept").isEqualTo(429);

    var again = post("limited", key);
    assertThat(again.statusCode()).isEqualTo(200);
    assertThat(again.body()).isEqualTo("run 1");
    server.clear();
    assertThat(post("limited", denied).body()).isEqualTo("run 2");
  }

  @Test
  void aKeyIsRequiredUnlessTheRouteSaysOtherwise() {
    assertThat(server.post("/replay/plain", "{}").statusCode()).isEqualTo(400);
    assertThat(post("plain", "\"a").statusCode()).isEqualTo(400);
    assertThat(server.post("/replay/optional", "{}").body()).isEqualTo("run 1");
    assertThat(server.post("/replay/optional", "{}").body()).isEqualTo("run 2");
    String key = newKey();
    assertThat(post("optional", key).body()).isEqualTo("run 3");
    assertThat(post("optional", key).body()).isEqualTo("run 3");
    assertThat(post("optional", "\"a").statusCode()).isEqualTo(400);
  }

  @Test
  void aLargeBodyCannotBeCompared() {
    assertThat(server.post("/replay/plain", "x".repeat(1_001), KEY, newKey()).statusCode())
        .isEqualTo(413);
    byte[] body = "x".repeat(1_001).getBytes(StandardCharsets.UTF_8);
    var chunked =
        BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body)); // no Content-Length
    assertThat(server.exchange("POST", "/replay/plain", chunked, KEY, newKey()).statusCode())
        .isEqualTo(413);
    assertThat(runs().count).hasValue(0);
    var fitting = BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body, 0, 1_000));
    assertThat(server.exchange("POST", "/replay/plain", fitting, KEY, newKey()).statusCode())
        .isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"large", "file", "items", "broken"})
  void anAnswerThatCannotBeKeptIsNotMadeTwice(String route) {
    String key = newKey();
    assertThat(post(route, key).statusCode()).isEqualTo(route.equals("broken") ? 500 : 200);
    var again = post(route, key);
    assertThat(again.statusCode()).isEqualTo(409);
    assertThat(again.body()).contains("its response is not available");
    assertThat(runs().count).hasValue(1);
  }

  @Test
  void aRequestWithPartsIsRejected() {
    var answer =
        server.exchange(
            "POST",
            "/replay/parts",
            "--a\r\n\r\nx\r\n--a--\r\n",
            KEY,
            newKey(),
            "Content-Type",
            "multipart/form-data; boundary=a");
    assertThat(answer.statusCode()).isEqualTo(415);
    assertThat(runs().count).hasValue(0);
  }

  @ParameterizedTest
  @CsvSource({
    "routed, /replay/routed",
    "plain, io.limiter.idempotency.RepetitionsTest$Routes.plain()"
  })
  void aSubmissionCanBeForgotten(String path, String route) {
    String key = newKey();
    String first = post(path, key).body();
    assertThat(forget(route, "\"address\": \"192.0.2.1\"", key)).isEqualTo(200);
    assertThat(post(path, key).body()).as("another caller's").isEqualTo(first);
    assertThat(forget(route, "\"address\": \"127.0.0.1\"", key)).isEqualTo(200);
    assertThat(post(path, key).body()).isNotEqualTo(first);
    assertThat(runs().count).hasValue(2);
    assertThat(forget("none", "\"owner\": \"ada\"", key)).isEqualTo(404);
    assertThat(forget(route, "\"owner\": null", key)).isEqualTo(400);
    assertThat(forget(route, "\"address\": \"nowhere\"", key)).isEqualTo(400);
    assertThat(forget(route, "\"owner\": 1", key)).isEqualTo(400);
    assertThat(forget(route, "\"owner\": \"ada\", \"user\": \"ada\"", key)).isEqualTo(400);
    for (String body : List.of("", "{}", "[]", "{\"route\"", "{\"route\": \"none\"}")) {
      var refused = server.post("/idempotency", body);
      assertThat(refused.statusCode()).as(body).isEqualTo(400);
      assertThat(refused.body()).contains("send one such as");
    }
  }

  private int forget(String route, String caller, String key) {
    return server
        .post(
            "/idempotency",
            "{\"route\": \"%s\", %s, \"key\": \"%s\"}".formatted(route, caller, key))
        .statusCode();
  }

  @Test
  void aBeanNamesTheOwnerOfKeys() {
    String key = newKey();
    assertThat(server.post("/replay/owned/a", "", KEY, key, "X-Tenant", "1").body())
        .isEqualTo("run 1");
    assertThat(server.post("/replay/owned/a", "", KEY, key, "X-Tenant", "1").body())
        .isEqualTo("run 1");
    assertThat(server.post("/replay/owned/a", "", KEY, key, "X-Tenant", "2").body())
        .isEqualTo("run 2");
    assertThat(server.post("/replay/owned/b", "", KEY, key, "X-Tenant", "1").statusCode())
        .isEqualTo(422);
    var anonymous = server.post("/replay/owned/a", "", KEY, key);
    assertThat(anonymous.statusCode()).isEqualTo(400);
    assertThat(anonymous.body()).contains("idempotency_key_anonymous");
  }

  @Test
  void allEndToEndFieldsAreRepeated() {
    String key = newKey();
    var first = post("fields", key);
    var again = post("fields", key);
    for (String name :
        List.of(
            "Content-Type",
            "Content-Encoding",
            "Content-Disposition",
            "X-Content-Type-Options",
            "Content-Security-Policy",
            "Cache-Control",
            "Vary",
            "ETag")) {
      assertThat(again.headers().allValues(name))
          .as(name)
          .isNotEmpty()
          .isEqualTo(first.headers().allValues(name));
    }
    assertThat(field(first, "Date")).contains("1970");
    for (var own :
        List.of(again, post("fields", ""), server.post("/replay/fields", "", KEY, key))) {
      assertThat(ZonedDateTime.parse(field(own, "Date"), RFC_1123_DATE_TIME))
          .as("its own, with the status %s", own.statusCode())
          .isAfter(ZonedDateTime.now().minusMinutes(10));
    }
    assertThat(runs().count).hasValue(1);
  }

  @Test
  void aMethodMayRunForLongerThanItsEndIsKept() throws InterruptedException {
    String key = newKey();
    runs().gate = new CountDownLatch(1);
    var first = postAsync("outlives", key);
    await().until(() -> runs().count.get() == 1);
    for (int i = 0; i < 8; i++) {
      Thread.sleep(400);
      assertThat(post("outlives", key).statusCode()).isEqualTo(409);
    }
    runs().gate.countDown();
    assertThat(first.join().body()).isEqualTo("run 1");
    assertThat(runs().count).hasValue(1);
  }

  /** The next request on the connection would have had no response. */
  @ParameterizedTest
  @ValueSource(ints = {100, 10_000, 70_000, 500_000, 1_000_000})
  void aStreamedBodyIsReadToItsEnd(int length) {
    try (IdempotentService large =
        IdempotentService.start(SPEC, Map.of("limiter.idempotency.anonymous-by-address", true))) {
      String body = "x".repeat(length);
      for (int i = 0; i < 3; i++) {
        String key = newKey();
        String first = large.post("/replay/streamed", body, KEY, key).body();
        assertThat(first).startsWith(length + " bytes");
        assertThat(large.post("/replay/streamed", body, KEY, key).body()).isEqualTo(first);
      }
    }
  }

  @Test
  void aStartNamesTheRoutesWhoseCallersHaveNoUser() {
    try (RecordedLog log = RecordedLog.of(IdempotentRoutes.class)) {
      IdempotentService.start(SPEC, Map.of()).close();
      assertThat(log.lines())
          .anySatisfy(
              line ->
                  assertThat(line)
                      .startsWith("WARN Without micronaut-security no request has a user, so each")
                      .contains("anonymous-by-address: true"));
    }
  }

  /** The router takes the slash at the end, so no other spelling leads past the settings. */
  @ParameterizedTest
  @ValueSource(strings = {"routed", "routed/"})
  void aPathByAnotherSpellingIsTheSameRoute(String path) {
    String key = newKey();
    assertThat(server.post("/replay/" + path, "").statusCode()).isEqualTo(400);
    assertThat(post(path, key).body()).isEqualTo("run 1");
    assertThat(post(path, key).body()).isEqualTo("run 1");
    assertThat(runs().count).hasValue(1);
  }
}
