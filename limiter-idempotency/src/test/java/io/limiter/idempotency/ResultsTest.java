// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.async.annotation.SingleResult;
import io.micronaut.core.io.Writable;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.Status;
import io.micronaut.http.server.types.files.StreamedFile;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.core.Single;
import jakarta.inject.Singleton;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Every kind of result in every wrapper: repeated, refused as done, or refused at the start. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ResultsTest {

  private static final String SPEC = "ResultsTest";

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Runs {
    final AtomicInteger count = new AtomicInteger();
  }

  @Introspected
  record Item(int run) {}

  @Controller("/results")
  @Idempotent
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Runs runs;

    Routes(Runs runs) {
      this.runs = runs;
    }

    private Item item() {
      return new Item(runs.count.incrementAndGet());
    }

    @Post("/value")
    Item value() {
      return item();
    }

    @Post("/list")
    List<Item> list() {
      return List.of(item());
    }

    @Post("/full")
    Optional<Item> full() {
      return Optional.of(item());
    }

    @Post("/empty")
    Optional<Item> empty() {
      item();
      return Optional.empty();
    }

    @Post("/null")
    @Nullable Item nothing() {
      item();
      return null;
    }

    @Post("/void")
    void none() {
      item();
    }

    @Post("/status")
    @Status(HttpStatus.ACCEPTED)
    Item status() {
      return item();
    }

    @Post("/response")
    HttpResponse<Item> response() {
      return HttpResponse.created(item());
    }

    @Post("/stage")
    CompletionStage<Item> stage() {
      return CompletableFuture.completedFuture(item());
    }

    @Post("/stage-response")
    CompletableFuture<HttpResponse<Item>> stageOfResponse() {
      return CompletableFuture.completedFuture(response());
    }

    @Post("/mono")
    Mono<Item> mono() {
      return Mono.fromSupplier(this::item);
    }

    @Post("/mono-empty")
    Mono<Item> monoEmpty() {
      return Mono.fromRunnable(this::item);
    }

    @Post("/mono-response")
    Mono<HttpResponse<Item>> monoOfResponse() {
      return Mono.fromSupplier(this::response);
    }

    @Post("/flux-response")
    Flux<HttpResponse<Item>> fluxOfResponses() {
      return Flux.defer(() -> Flux.just(response(), HttpResponse.ok()));
    }

    @Post("/single")
    @SingleResult
    Publisher<Item> single() {
      return mono();
    }

    /** Longer than what is read before the bodies are compared. */
    @Post("/long")
    String text() {
      return "run %s ".formatted(item().run()).repeat(10_000);
    }

    @Post("/rx-single")
    Single<Item> rxSingle() {
      return Single.fromCallable(this::item);
    }

    @Post("/rx-single-response")
    Single<HttpResponse<Item>> rxSingleOfResponse() {
      return Single.fromCallable(this::response);
    }

    @Post("/rx-maybe")
    Maybe<Item> rxMaybe() {
      return Maybe.fromCallable(this::item);
    }

    @Post("/rx-maybe-empty")
    Maybe<Item> rxMaybeEmpty() {
      return Maybe.fromAction(this::item);
    }

    @Post("/rx-completable")
    Completable rxCompletable() {
      return Completable.fromAction(this::item);
    }

    @Post("/rx-flowable-response")
    Flowable<HttpResponse<Item>> rxFlowableOfResponses() {
      return rxSingleOfResponse().toFlowable();
    }

    @Post("/rx-flowable-single")
    @SingleResult
    Flowable<Item> rxFlowableOfOne() {
      return rxSingle().toFlowable();
    }

    @Post("/unknown")
    HttpResponse<?> unknown() {
      return HttpResponse.ok(item());
    }

    @Post("/unknown-stream")
    HttpResponse<?> unknownStream() {
      return HttpResponse.ok(Flux.just(item(), new Item(0)));
    }

    @Post("/unknown-writable")
    HttpResponse<?> unknownWritable() {
      Item item = item();
      return HttpResponse.ok((Writable) out -> out.write("run " + item.run()));
    }

    @Post("/unknown-file")
    HttpResponse<?> unknownFile() {
      byte[] text = ("run " + item().run()).getBytes(StandardCharsets.UTF_8);
      return HttpResponse.ok(
          new StreamedFile(new ByteArrayInputStream(text), MediaType.TEXT_PLAIN_TYPE));
    }

    @Post("/unknown-mono")
    Mono<HttpResponse<?>> unknownMono() {
      return Mono.fromSupplier(this::unknownStream);
    }

    // The types below hide a stream, which is found when the method has returned it.

    @Post("/hidden-response-mono")
    HttpResponse<?> hiddenMono() {
      return HttpResponse.ok(mono());
    }

    @Post("/hidden-response-mono-throws")
    HttpResponse<?> hiddenMonoFails() {
      return HttpResponse.ok(monoFails());
    }

    @Post("/hidden-mono-flux")
    Mono<Object> hiddenFlux() {
      return Mono.fromSupplier(() -> Flux.just(item()));
    }

    @Post("/hidden-stage-flux")
    CompletionStage<Object> hiddenFluxOfStage() {
      return CompletableFuture.completedFuture(Flux.just(item()));
    }

    @Post("/hidden-optional-flux")
    Optional<Object> hiddenFluxOfOptional() {
      return Optional.of(Flux.just(item()));
    }

    @Post("/hidden-optional-stream")
    Optional<Object> hiddenStreamOfOptional() {
      return Optional.of(Stream.of(item()));
    }

    @Post("/hidden-flux")
    Object hiddenFluxAlone() {
      return Flux.just(item());
    }

    @Post("/hidden-rx-single")
    Object hiddenSingle() {
      return rxSingle();
    }

    @Post("/rx-single-throws")
    Single<Item> rxSingleFails() {
      return rxSingle().map(ResultsTest::failed);
    }

    @Post("/rx-maybe-throws")
    Maybe<Item> rxMaybeFails() {
      return rxMaybe().map(ResultsTest::failed);
    }

    @Post("/rx-completable-throws")
    Completable rxCompletableFails() {
      return rxSingleFails().ignoreElement();
    }

    @Post("/rx-flowable-response-throws")
    Flowable<HttpResponse<Item>> rxFlowableFails() {
      return rxSingleOfResponse().toFlowable().map(ResultsTest::failed);
    }

    @Post("/throws")
    Item fails() {
      throw new IllegalStateException("run " + item());
    }

    @Post("/stage-throws")
    CompletionStage<Item> stageFails() {
      return CompletableFuture.failedFuture(new IllegalStateException("run " + item()));
    }

    @Post("/mono-throws")
    Mono<Item> monoFails() {
      return mono().flatMap(item -> Mono.error(new IllegalStateException("run " + item)));
    }

    @Post("/object-mono-throws")
    Object objectMonoFails() {
      return monoFails();
    }

    @Post("/cancelled")
    CompletionStage<Item> cancelled() {
      item();
      CompletableFuture<Item> stage = new CompletableFuture<>();
      stage.cancel(false);
      return stage;
    }
  }

  private static <T> T failed(T item) {
    throw new IllegalStateException("run " + item);
  }

  private IdempotentService server;

  @BeforeAll
  void start() {
    server =
        IdempotentService.start(SPEC, Map.of("limiter.idempotency.anonymous-by-address", true));
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @BeforeEach
  void clear() {
    server.bean(Runs.class).count.set(0);
  }

  private java.net.http.HttpResponse<String> post(String route, String key) {
    return server.post("/results/" + route, "", "Idempotency-Key", key);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "value",
        "list",
        "full",
        "empty",
        "null",
        "void",
        "status",
        "response",
        "stage",
        "stage-response",
        "mono",
        "mono-empty",
        "mono-response",
        "flux-response",
        "single",
        "long",
        "rx-single",
        "rx-single-response",
        "rx-maybe",
        "rx-maybe-empty",
        "rx-completable",
        "rx-flowable-response",
        "rx-flowable-single",
        "unknown"
      })
  void aValueIsRepeatedByteForByte(String route) {
    String key = UUID.randomUUID().toString();
    var first = post(route, key);
    for (int i = 0; i < 2; i++) {
      var again = post(route, key);
      assertThat(again.statusCode()).isEqualTo(first.statusCode()).isLessThan(500);
      assertThat(again.body()).isEqualTo(first.body());
      assertThat(again.headers().allValues("Content-Type"))
          .isEqualTo(first.headers().allValues("Content-Type"));
      assertThat(again.headers().firstValue("Idempotency-Replayed")).contains("true");
    }
    assertThat(server.bean(Runs.class).count).hasValue(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"value", "long"})
  void anotherBodyIsRejectedWhateverWasKept(String route) {
    String key = UUID.randomUUID().toString();
    post(route, key);
    var other = server.post("/results/" + route, "other", "Idempotency-Key", key);
    assertThat(other.statusCode()).isEqualTo(422);
    assertThat(other.body()).contains("idempotency_key_reused");
    assertThat(server.bean(Runs.class).count).hasValue(1);
  }

  @ParameterizedTest
  @CsvSource({
    "unknown-stream, 200",
    "unknown-writable, 200",
    "unknown-file, 200",
    "unknown-mono, 200",
    "hidden-response-mono, 200",
    "hidden-response-mono-throws, 500",
    "hidden-mono-flux, 200",
    "hidden-stage-flux, 200",
    "hidden-optional-flux, 200",
    "hidden-optional-stream, 200",
    "hidden-flux, 200",
    "hidden-rx-single, 200",
    "cancelled, 500"
  })
  void whatCannotBeKeptDoesNotRunAgain(String route, int status) {
    String key = UUID.randomUUID().toString();
    assertThat(post(route, key).statusCode()).isEqualTo(status);
    assertThat(post(route, key).statusCode()).isEqualTo(409);
    assertThat(post(route, key).body()).contains("idempotent_answer_unavailable");
    assertThat(server.bean(Runs.class).count).hasValue(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "throws",
        "stage-throws",
        "mono-throws",
        "object-mono-throws",
        "rx-single-throws",
        "rx-maybe-throws",
        "rx-completable-throws",
        "rx-flowable-response-throws"
      })
  void aFailureFreesTheKey(String route) {
    String key = UUID.randomUUID().toString();
    assertThat(post(route, key).statusCode()).isEqualTo(500);
    assertThat(post(route, key).statusCode()).isEqualTo(500);
    assertThat(server.bean(Runs.class).count).hasValue(2);
  }

  // Each of these stops the start.

  @Controller("/refused")
  @Requires(property = "spec.name", value = "flux")
  static class OfFlux {
    @Post
    @Idempotent
    Flux<Item> route() {
      return Flux.empty();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "flux-in-response")
  static class OfFluxInResponse {
    @Post
    @Idempotent
    Mono<HttpResponse<Flux<Item>>> route() {
      return Mono.empty();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "mono-flux")
  static class OfFluxInMono {
    @Post
    @Idempotent
    Mono<Flux<Item>> route() {
      return Mono.empty();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "stage-flux")
  static class OfFluxInStage {
    @Post
    @Idempotent
    CompletionStage<Flux<Item>> route() {
      return CompletableFuture.completedFuture(Flux.empty());
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "optional-flux")
  static class OfFluxInOptional {
    @Post
    @Idempotent
    Optional<Flux<Item>> route() {
      return Optional.empty();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "optional-stream")
  static class OfStreamInOptional {
    @Post
    @Idempotent
    Optional<Stream<Item>> route() {
      return Optional.empty();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "response-mono")
  static class OfMonoInResponse {
    @Post
    @Idempotent
    HttpResponse<Mono<Item>> route() {
      return HttpResponse.ok();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "flowable")
  static class OfFlowable {
    @Post
    @Idempotent
    Flowable<Item> route() {
      return Flowable.empty();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "observable")
  static class OfObservable {
    @Post
    @Idempotent
    Observable<Item> route() {
      return Observable.empty();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "single-flowable")
  static class OfFlowableInSingle {
    @Post
    @Idempotent
    Single<Flowable<Item>> route() {
      return Single.just(Flowable.empty());
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "writable")
  static class OfWritable {
    @Post
    @Idempotent
    HttpResponse<Writable> route() {
      return HttpResponse.ok();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "input")
  static class OfInput {
    @Post
    @Idempotent
    CompletionStage<InputStream> route() {
      return CompletableFuture.completedFuture(InputStream.nullInputStream());
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "future")
  static class OfFuture {
    @Post
    @Idempotent
    Future<Item> route() {
      return new CompletableFuture<>();
    }
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "retain")
  static class OfRetain {
    @Post
    @Idempotent(retain = "500ms")
    void route() {}
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "claim")
  static class OfClaim {
    @Post
    @Idempotent(claim = "soon")
    void route() {}
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "status")
  static class OfStatus {
    @Post
    @Idempotent(releaseOn = 500)
    void route() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "no-route")
  static class OfBean {
    @Idempotent
    void work() {}
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          flux             | ResultsTest$OfFlux.route(): it returns reactor.core.publisher.Flux<
          flux-in-response | a stream: return its items together
          mono-flux        | ResultsTest$OfFluxInMono.route(): it returns reactor.core.publisher.Mono<reactor.core.publisher.Flux<
          stage-flux       | a stream: return its items together
          optional-flux    | a stream: return its items together
          optional-stream  | which is produced while it is written and cannot be kept
          response-mono    | a stream: return its items together
          flowable         | it returns io.reactivex.rxjava3.core.Flowable<
          observable       | a stream: return its items together
          single-flowable  | a stream: return its items together
          writable         | which is produced while it is written and cannot be kept
          input            | which is produced while it is written and cannot be kept
          future           | which does not show when the method ends
          retain           | retain = "500ms": use 1 s to 31622400 s
          claim            | claim = "soon" is no time: write one such as 30s
          status           | releaseOn has 500: name statuses from 400 to 499
          no-route         | it is no route: for other code there is io.limiter.idempotency.IdempotentCalls
          """)
  void aMistakeStopsTheStart(String specification, String message) {
    assertThatThrownBy(() -> IdempotentService.start(specification, Map.of()).close())
        .hasStackTraceContaining("@Idempotent on ")
        .hasStackTraceContaining(message);
  }

  @Controller("/without-replay")
  @Requires(property = "spec.name", value = "without-replay")
  static class WithoutReplay {
    final AtomicInteger runs = new AtomicInteger();

    @Post("/value")
    @Idempotent(retain = "")
    String value() {
      return "run " + runs.incrementAndGet();
    }

    @Post("/file")
    @Idempotent(retain = "")
    StreamedFile file() {
      return new StreamedFile(
          new ByteArrayInputStream(
              ("run " + runs.incrementAndGet()).getBytes(StandardCharsets.UTF_8)),
          MediaType.TEXT_PLAIN_TYPE);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"value", "file"})
  void withoutReplayARepetitionIsRefused(String route) {
    try (IdempotentService service =
        IdempotentService.start(
            "without-replay", Map.of("limiter.idempotency.anonymous-by-address", true))) {
      String path = "/without-replay/" + route;
      assertThat(service.post(path, "", "Idempotency-Key", "1").body()).isEqualTo("run 1");
      assertThat(service.post(path, "", "Idempotency-Key", "1").statusCode()).isEqualTo(409);
      assertThat(service.post(path, "", "Idempotency-Key", "2").body()).isEqualTo("run 2");
    }
  }
}
