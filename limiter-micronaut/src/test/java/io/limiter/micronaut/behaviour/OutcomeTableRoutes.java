// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.Status;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.http.server.types.files.StreamedFile;
import io.micronaut.http.sse.Event;
import jakarta.inject.Singleton;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Routes of each kind, each of which can end in each way. They count failures and successes, and
 * have a duplicate guard: {@link Listed} with lists of statuses, {@link Usual} without, {@link
 * Kept} with one that nothing releases.
 */
abstract class OutcomeTableRoutes {

  static final String SPEC = "OutcomeTable";

  private static final int HOUR = 3_600;

  /** What a route returns. */
  enum Kind {
    VOID,
    OBJECT,
    RESPONSE(true),
    OPTIONAL,
    STATUS,
    STAGE,
    STAGE_OF_RESPONSE(true),
    STAGE_THAT_THROWS,
    MONO,
    MONO_OF_RESPONSE(true),
    FLUX,
    FLUX_THAT_THROWS,
    EVENTS,
    JSON_STREAM,
    RESPONSE_OF_FLUX(true),
    FILE,
    BEAN,
    BEANS,
    STAGE_OF_BEAN,
    MONO_OF_RESPONSE_OF_BEAN;

    /** Whether it can return a status. */
    final boolean responds;

    /** Whether it may fail when all filters have run. */
    final boolean streams;

    Kind() {
      this(false);
    }

    Kind(boolean responds) {
      this.responds = responds;
      this.streams = List.of("FLUX", "EVENTS", "JSON_STREAM", "RESPONSE_OF_FLUX").contains(name());
    }

    String path() {
      return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }

    /** Whether its result has a getter, which can fail when all filters have run. */
    boolean isBean() {
      return name().contains("BEAN");
    }
  }

  /** How a call ends. */
  @Introspected
  enum Way {
    OK,
    /** Null, or nothing, which is an answer of 404. */
    NOTHING,
    RETURNED_401,
    STATUS_EXCEPTION_401,
    STATUS_EXCEPTION_503,
    /** By an {@link ExceptionHandler}. */
    HANDLED_401,
    HANDLED_422,
    /** By an {@code @Error} method of the controller. */
    LOCAL_401,
    UNEXPECTED,

    CHECKED,
    ERROR,

    /** A result that cannot be encoded. */
    UNENCODABLE;

    /** Whether the method throws. */
    boolean fails() {
      return this != OK && this != NOTHING && this != RETURNED_401 && this != UNENCODABLE;
    }

    /** Throws what this way throws. */
    void pass() {
      if (fails()) {
        throw Way.<RuntimeException>sneaky(failure());
      }
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T sneaky(Throwable failure) throws T {
      throw (T) failure;
    }

    Throwable failure() {
      return switch (this) {
        case STATUS_EXCEPTION_401 -> new HttpStatusException(HttpStatus.UNAUTHORIZED, "no");
        case STATUS_EXCEPTION_503 -> new HttpStatusException(HttpStatus.SERVICE_UNAVAILABLE, "no");
        case HANDLED_401 -> new Handled(HttpStatus.UNAUTHORIZED);
        case HANDLED_422 -> new Handled(HttpStatus.UNPROCESSABLE_ENTITY);
        case LOCAL_401 -> new Local();
        case CHECKED -> new IOException("checked");
        case ERROR -> new AssertionError("error");
        default -> new IllegalStateException("unexpected");
      };
    }

    String value() {
      pass();
      return this == NOTHING ? null : "ok";
    }

    HttpResponse<String> response() {
      String value = value();
      return this == RETURNED_401
          ? HttpResponse.<String>unauthorized().body("no")
          : value == null ? HttpResponse.notFound() : HttpResponse.ok(value);
    }

    Result bean() {
      return value() == null ? null : new Result(this);
    }

    <T> Flux<T> items(T item) {
      return fails() ? Flux.error(failure()) : this == NOTHING ? Flux.empty() : Flux.just(item);
    }
  }

  @Introspected
  record Result(Way way) {
    public String getText() {
      if (way == Way.UNENCODABLE) {
        throw new IllegalStateException("unencodable");
      }
      return "ok";
    }
  }

  static final class Handled extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final HttpStatus status;

    Handled(HttpStatus status) {
      this.status = status;
    }
  }

  static final class Local extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Handler implements ExceptionHandler<Handled, HttpResponse<?>> {
    @Override
    public HttpResponse<?> handle(
        @SuppressWarnings("rawtypes") HttpRequest request, Handled failure) {
      return HttpResponse.status(failure.status);
    }
  }

  /** What is listed is 401. */
  @Controller("/table/listed")
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(
      failedOn = 401,
      rules = {
        @RateRule(count = 100, time = HOUR, counts = Counts.FAILURES, name = "failures"),
        @RateRule(count = 100, time = HOUR, counts = Counts.SUCCESSES, name = "successes")
      },
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = HOUR),
      duplicate = @Duplicate(by = DuplicateBy.CALLER, releaseOn = 401))
  static class Listed extends OutcomeTableRoutes {}

  @Controller("/table/usual")
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(
      rules = {
        @RateRule(count = 100, time = HOUR, counts = Counts.FAILURES, name = "failures"),
        @RateRule(count = 100, time = HOUR, counts = Counts.SUCCESSES, name = "successes")
      },
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = HOUR),
      duplicate = @Duplicate(by = DuplicateBy.CALLER))
  static class Usual extends OutcomeTableRoutes {}

  /** Whatever happens to a submission, it stays accepted. */
  @Controller("/table/kept")
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(
      rules = {
        @RateRule(count = 100, time = HOUR, counts = Counts.FAILURES, name = "failures"),
        @RateRule(count = 100, time = HOUR, counts = Counts.SUCCESSES, name = "successes")
      },
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = HOUR),
      duplicate = @Duplicate(by = DuplicateBy.CALLER, releaseOnFailure = false))
  static class Kept extends OutcomeTableRoutes {}

  @Error(exception = Local.class)
  HttpResponse<String> local(Local local) {
    return HttpResponse.<String>unauthorized().body("local");
  }

  @Error(status = HttpStatus.I_AM_A_TEAPOT)
  HttpResponse<String> teapot() {
    return HttpResponse.<String>unauthorized().body("teapot");
  }

  @Get("/void")
  void nothing(@QueryValue Way way) {
    way.pass();
  }

  @Get("/object")
  String object(@QueryValue Way way) {
    return way.value();
  }

  @Get("/response")
  HttpResponse<String> response(@QueryValue Way way) {
    return way.response();
  }

  @Get("/optional")
  Optional<String> optional(@QueryValue Way way) {
    return Optional.ofNullable(way.value());
  }

  @Get("/status")
  @Status(HttpStatus.CREATED)
  String status(@QueryValue Way way) {
    return way.value();
  }

  @Get("/stage")
  CompletionStage<String> stage(@QueryValue Way way) {
    return CompletableFuture.supplyAsync(way::value);
  }

  @Get("/stage-of-response")
  CompletionStage<HttpResponse<String>> stageOfResponse(@QueryValue Way way) {
    return CompletableFuture.supplyAsync(way::response);
  }

  @Get("/stage-that-throws")
  CompletionStage<String> stageThatThrows(@QueryValue Way way) {
    return CompletableFuture.completedFuture(way.value());
  }

  @Get("/mono")
  Mono<String> mono(@QueryValue Way way) {
    return Mono.fromCallable(way::value);
  }

  @Get("/mono-of-response")
  Mono<HttpResponse<String>> monoOfResponse(@QueryValue Way way) {
    return Mono.fromCallable(way::response);
  }

  @Get("/flux")
  Flux<String> flux(@QueryValue Way way) {
    return way.items("ok");
  }

  @Get("/flux-that-throws")
  Flux<String> fluxThatThrows(@QueryValue Way way) {
    way.pass();
    return way.items("ok");
  }

  @Get(value = "/events", produces = MediaType.TEXT_EVENT_STREAM)
  Publisher<Event<String>> events(@QueryValue Way way) {
    return way.items(Event.of("ok"));
  }

  @Get(value = "/json-stream", produces = MediaType.APPLICATION_JSON_STREAM)
  Publisher<Integer> jsonStream(@QueryValue Way way) {
    return way.items(1);
  }

  @Get("/response-of-flux")
  HttpResponse<Flux<String>> responseOfFlux(@QueryValue Way way) {
    return way == Way.RETURNED_401
        ? HttpResponse.<Flux<String>>unauthorized().body(Flux.just("no"))
        : HttpResponse.ok(way.items("ok"));
  }

  @Get("/file")
  StreamedFile file(@QueryValue Way way) {
    way.pass();
    return new StreamedFile(
        new ByteArrayInputStream(new byte[] {'o', 'k'}), MediaType.TEXT_PLAIN_TYPE);
  }

  @Get("/bean")
  Result bean(@QueryValue Way way) {
    return way.bean();
  }

  @Get("/beans")
  List<Result> beans(@QueryValue Way way) {
    Result bean = way.bean();
    return bean == null ? null : List.of(new Result(Way.OK), bean);
  }

  @Get("/stage-of-bean")
  CompletionStage<Result> stageOfBean(@QueryValue Way way) {
    return CompletableFuture.supplyAsync(way::bean);
  }

  @Get("/mono-of-response-of-bean")
  Mono<HttpResponse<Result>> monoOfResponseOfBean(@QueryValue Way way) {
    return Mono.fromCallable(
        () -> {
          Result bean = way.bean();
          return bean == null ? HttpResponse.notFound() : HttpResponse.accepted().body(bean);
        });
  }
}
