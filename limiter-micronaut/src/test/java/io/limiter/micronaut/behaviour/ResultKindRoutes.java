// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.io.Writable;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpResponseWrapper;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.Status;
import io.micronaut.http.server.types.files.StreamedFile;
import io.micronaut.http.server.types.files.SystemFile;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.nio.file.Files;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Methods that return five characters in each way in which a method can, of a controller or of a
 * plain bean; a subclass has the limit.
 */
@Produces(MediaType.TEXT_PLAIN)
abstract class ResultKindRoutes {

  static final String SPEC = "ResultKinds";

  /** How a call ends. */
  @Introspected
  enum Way {
    OK,
    /** It fails, where that is possible after a part of the result. */
    FAIL,
    /** It waits in the middle. */
    WAIT
  }

  private static final File FILE = fiveCharacters();

  /** Of the calls that wait. */
  static final Map<String, Waiting> WAITING = new ConcurrentHashMap<>();

  record Waiting(CompletableFuture<Void> there, CompletableFuture<Void> go) {

    static Waiting of(String id) {
      return WAITING.computeIfAbsent(
          id, any -> new Waiting(new CompletableFuture<>(), new CompletableFuture<>()));
    }
  }

  private static void pass(String id, Way way) {
    if (way == Way.FAIL) {
      throw new IllegalStateException("failed");
    }
    if (way == Way.WAIT) {
      Waiting.of(id).there().complete(null);
      Waiting.of(id).go().join();
    }
  }

  private static String five(String id, Way way) {
    pass(id, way);
    return "xxxxx";
  }

  private static Flux<String> items(String id, Way way) {
    Flux<String> rest = Flux.just("x", "x", "x");
    return Flux.just("x", "x")
        .concatWith(
            switch (way) {
              case OK -> rest;
              case FAIL -> Flux.error(new IllegalStateException("failed"));
              case WAIT ->
                  Mono.fromFuture(
                          () -> {
                            Waiting.of(id).there().complete(null);
                            return Waiting.of(id).go();
                          })
                      .thenMany(rest);
            });
  }

  private static Writable writable(String id, Way way) {
    return writer -> {
      writer.write("xx");
      pass(id, way);
      writer.write("xxx");
    };
  }

  private static InputStream bytes(String id, Way way) {
    return new InputStream() {
      private int read;

      @Override
      public int read() throws IOException {
        if (read == 2) {
          try {
            pass(id, way);
          } catch (IllegalStateException failed) {
            throw new IOException(failed);
          }
        }
        return read++ < 5 ? 'x' : -1;
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        int next = read();
        if (next < 0) {
          return -1;
        }
        bytes[offset] = (byte) next;
        return 1;
      }
    };
  }

  private static File file(Way way) {
    return way == Way.FAIL ? new File(FILE.getParentFile(), "absent-" + FILE.getName()) : FILE;
  }

  private static File fiveCharacters() {
    try {
      File file = Files.createTempFile("five", ".txt").toFile();
      file.deleteOnExit();
      Files.writeString(file.toPath(), "xxxxx");
      return file;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * On a thread of its own: on two processors the common pool of JDK 25 has one, which may wait.
   */
  static <T> CompletableFuture<T> later(Supplier<T> value) {
    return CompletableFuture.supplyAsync(value, work -> new Thread(work).start());
  }

  @Get("/value")
  @ExecuteOn(TaskExecutors.BLOCKING)
  String value(@QueryValue String id, @QueryValue Way way) {
    return five(id, way);
  }

  @Get("/value-response")
  @ExecuteOn(TaskExecutors.BLOCKING)
  HttpResponse<String> valueResponse(@QueryValue String id, @QueryValue Way way) {
    return HttpResponse.ok(five(id, way));
  }

  @Get("/value-optional")
  @ExecuteOn(TaskExecutors.BLOCKING)
  Optional<String> valueOptional(@QueryValue String id, @QueryValue Way way) {
    return Optional.of(five(id, way));
  }

  @Get("/value-stage")
  CompletionStage<String> valueStage(@QueryValue String id, @QueryValue Way way) {
    return later(() -> five(id, way));
  }

  @Get("/value-mono")
  Mono<String> valueMono(@QueryValue String id, @QueryValue Way way) {
    return Mono.fromCompletionStage(() -> later(() -> five(id, way)));
  }

  @Get("/value-stage-response")
  CompletionStage<HttpResponse<String>> valueStageResponse(
      @QueryValue String id, @QueryValue Way way) {
    return later(() -> HttpResponse.ok(five(id, way)));
  }

  @Get("/value-unknown")
  @ExecuteOn(TaskExecutors.BLOCKING)
  HttpResponse<?> valueUnknown(@QueryValue String id, @QueryValue Way way) {
    return HttpResponse.ok(five(id, way));
  }

  @Get("/value-status")
  @ExecuteOn(TaskExecutors.BLOCKING)
  @Status(HttpStatus.ACCEPTED)
  @Header(name = HttpHeaders.CACHE_CONTROL, value = "no-store")
  String valueStatus(@QueryValue String id, @QueryValue Way way) {
    return five(id, way);
  }

  @Get("/stream")
  Flux<String> stream(@QueryValue String id, @QueryValue Way way) {
    return items(id, way);
  }

  @Get("/stream-publisher")
  Publisher<String> streamPublisher(@QueryValue String id, @QueryValue Way way) {
    return items(id, way);
  }

  @Get("/stream-response")
  HttpResponse<Flux<String>> streamResponse(@QueryValue String id, @QueryValue Way way) {
    return HttpResponse.ok(items(id, way));
  }

  @Get("/stream-immutable")
  HttpResponse<Publisher<String>> streamImmutable(@QueryValue String id, @QueryValue Way way) {
    return new HttpResponseWrapper<>(HttpResponse.ok(items(id, way)));
  }

  @Get("/stream-optional")
  Optional<Publisher<String>> streamOptional(@QueryValue String id, @QueryValue Way way) {
    return Optional.of(items(id, way));
  }

  @Get("/stream-stage")
  CompletionStage<Flux<String>> streamStage(@QueryValue String id, @QueryValue Way way) {
    return later(() -> items(id, way));
  }

  @Get("/stream-mono")
  Mono<Flux<String>> streamMono(@QueryValue String id, @QueryValue Way way) {
    return Mono.just(items(id, way));
  }

  @Get("/stream-mono-response")
  Mono<HttpResponse<Flux<String>>> streamMonoResponse(@QueryValue String id, @QueryValue Way way) {
    return Mono.just(HttpResponse.ok(items(id, way)));
  }

  @Get("/stream-stage-response")
  CompletionStage<HttpResponse<Publisher<String>>> streamStageResponse(
      @QueryValue String id, @QueryValue Way way) {
    return later(() -> HttpResponse.ok(items(id, way)));
  }

  @Get("/stream-unknown")
  HttpResponse<?> streamUnknown(@QueryValue String id, @QueryValue Way way) {
    return HttpResponse.ok(items(id, way));
  }

  @Get("/stream-object")
  Object streamObject(@QueryValue String id, @QueryValue Way way) {
    return items(id, way);
  }

  @Get("/stream-of-one")
  HttpResponse<Mono<String>> streamOfOne(@QueryValue String id, @QueryValue Way way) {
    return HttpResponse.ok(Mono.fromCompletionStage(() -> later(() -> five(id, way))));
  }

  @Get("/later-input")
  InputStream laterInput(@QueryValue String id, @QueryValue Way way) {
    return bytes(id, way);
  }

  @Get("/later-input-response")
  HttpResponse<InputStream> laterInputResponse(@QueryValue String id, @QueryValue Way way) {
    return HttpResponse.ok(bytes(id, way));
  }

  @Get("/later-input-unknown")
  HttpResponse<?> laterInputUnknown(@QueryValue String id, @QueryValue Way way) {
    return HttpResponse.ok(bytes(id, way));
  }

  @Get("/later-streamed")
  StreamedFile laterStreamed(@QueryValue String id, @QueryValue Way way) {
    return new StreamedFile(bytes(id, way), MediaType.TEXT_PLAIN_TYPE);
  }

  @Get("/later-sized")
  Mono<StreamedFile> laterSized(@QueryValue String id, @QueryValue Way way) {
    return Mono.just(new StreamedFile(bytes(id, way), MediaType.TEXT_PLAIN_TYPE, 0, 5));
  }

  @Get("/later-writable")
  Writable laterWritable(@QueryValue String id, @QueryValue Way way) {
    return writable(id, way);
  }

  @Get("/later-writable-stage")
  CompletionStage<Writable> laterWritableStage(@QueryValue String id, @QueryValue Way way) {
    return later(() -> writable(id, way));
  }

  @Get("/later-writable-response")
  Mono<HttpResponse<Writable>> laterWritableResponse(@QueryValue String id, @QueryValue Way way) {
    return Mono.just(HttpResponse.ok(writable(id, way)));
  }

  @Get("/file")
  File file(@QueryValue String id, @QueryValue Way way) {
    return file(way);
  }

  @Get("/file-stage")
  CompletableFuture<SystemFile> fileStage(@QueryValue String id, @QueryValue Way way) {
    return CompletableFuture.completedFuture(new SystemFile(file(way)));
  }

  /** Estimated at ten of twenty units: three calls are admitted that cost five. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      header = "X-Id",
      cost = "10",
      resultCost = Characters.class,
      rules = @RateRule(count = 20, time = 3_600))
  @interface CostsOfRoutes {}

  /** Estimated at ten of twenty units: three calls are admitted that cost five. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      resolver = Caller.class,
      cost = "10",
      resultCost = Characters.class,
      rules = @RateRule(count = 20, time = 3_600))
  @interface CostsOfBeans {}

  @Controller("/kinds/costs")
  @Requires(property = "spec.name", value = SPEC)
  @CostsOfRoutes
  static class CostsRoutes extends ResultKindRoutes {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @CostsOfBeans
  static class CostsBean extends ResultKindRoutes {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      header = "X-Id",
      rules = @RateRule(count = 1, time = 600, algorithm = Algorithm.CONCURRENCY_LIMIT))
  @interface PermitsOfRoutes {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      resolver = Caller.class,
      rules = @RateRule(count = 1, time = 600, algorithm = Algorithm.CONCURRENCY_LIMIT))
  @interface PermitsOfBeans {}

  @Controller("/kinds/permits")
  @Requires(property = "spec.name", value = SPEC)
  @PermitsOfRoutes
  static class PermitsRoutes extends ResultKindRoutes {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @PermitsOfBeans
  static class PermitsBean extends ResultKindRoutes {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      header = "X-Id",
      rules = @RateRule(count = 2, time = 3_600, counts = Counts.FAILURES))
  @interface FailuresOfRoutes {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      resolver = Caller.class,
      rules = @RateRule(count = 2, time = 3_600, counts = Counts.FAILURES))
  @interface FailuresOfBeans {}

  @Controller("/kinds/failures")
  @Requires(property = "spec.name", value = SPEC)
  @FailuresOfRoutes
  static class FailuresRoutes extends ResultKindRoutes {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @FailuresOfBeans
  static class FailuresBean extends ResultKindRoutes {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      header = "X-Id",
      countIf = "#{status >= 500}",
      rules = @RateRule(count = 2, time = 3_600))
  @interface SelectedOfRoutes {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      resolver = Caller.class,
      countIf = "#{status >= 500}",
      rules = @RateRule(count = 2, time = 3_600))
  @interface SelectedOfBeans {}

  @Controller("/kinds/selected")
  @Requires(property = "spec.name", value = SPEC)
  @SelectedOfRoutes
  static class SelectedRoutes extends ResultKindRoutes {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @SelectedOfBeans
  static class SelectedBean extends ResultKindRoutes {}

  /** The caller of beans. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Caller implements SubjectResolver {

    static volatile String id = "";

    @Override
    public Optional<String> resolveOutsideOfRequest() {
      return Optional.of(id);
    }

    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.empty();
    }
  }

  /** What there is of the five characters. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Characters implements ResultCost {
    @Override
    public long of(Object result) {
      return result instanceof HttpResponse<?> response
          ? of(response.body())
          : result instanceof Optional<?> optional
              ? of(optional.get())
              : result instanceof String text ? text.length() : 5;
    }
  }
}
