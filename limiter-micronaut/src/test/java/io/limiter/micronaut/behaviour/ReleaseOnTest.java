// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Which statuses release a submission, where the annotation lists them, and where none does. */
class ReleaseOnTest extends WithAndWithoutGate {

  ReleaseOnTest() {
    super(ReleaseOnRoutes.SPEC);
  }

  static Stream<Arguments> endings() {
    return Stream.of("sync", "stage", "stage-throws", "mono", "flux-throws")
        .flatMap(
            route ->
                Arrays.stream(Ending.values())
                    .filter(end -> end != Ending.UNEXPECTED)
                    .filter(end -> end != Ending.RETURNED || !route.startsWith("flux"))
                    .map(end -> arguments(route, end)));
  }

  @ParameterizedTest
  @MethodSource("endings")
  void aListedStatusReleasesWhateverProducedIt(String route, Ending end) {
    for (int listed : new int[] {422, 503}) {
      assertThat(submit(route, end, listed)).isEqualTo(listed);
      assertThat(submit(route, end, listed)).isEqualTo(listed);
    }
  }

  @ParameterizedTest
  @MethodSource("endings")
  void anotherStatusDoesNotWhateverProducedIt(String route, Ending end) {
    for (int other : new int[] {400, 409, 421, 500, 502, 504}) {
      server.clear();
      assertThat(submit(route, end, other)).isEqualTo(other);
      assertThat(submit(route, end, other)).isEqualTo(409);
      assertThat(server.keys().all()).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "stage-throws", "mono", "flux-throws", "flux"})
  void anUnhandledExceptionIsA500WhichIsNotListed(String route) {
    assertThat(submit(route, Ending.UNEXPECTED, 503)).isEqualTo(500);
    assertThat(submit(route, Ending.UNEXPECTED, 503)).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "flux"})
  void anUnhandledExceptionIsA500WhichIsListed(String route) {
    assertThat(submit("500/" + route)).isEqualTo(500);
    assertThat(submit("500/" + route)).isEqualTo(500);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void aStreamThatFailsAfterItHasBegunCountsAs500Too() {
    assertThatThrownBy(() -> submit("500/flux-begun")).hasMessageContaining("got no answer");

    await().until(() -> server.keys().all().isEmpty());
  }

  @ParameterizedTest
  @CsvSource({"MAPPED, 422", "HANDLED, 503"})
  void aFailureWithinAStreamIsA500WhateverWouldHandleIt(Ending end, int status) {
    assertThat(submit("flux", end, status)).isEqualTo(500);
    assertThat(submit("flux", end, status)).isEqualTo(409);
  }

  @ParameterizedTest
  @MethodSource("neverReleased")
  void noFailureReleasesIfConfigured(String route, Ending end, int status) {
    assertThat(submit("never/" + route, end, status)).isEqualTo(status);
    assertThat(submit("never/" + route, end, status)).isEqualTo(409);
  }

  static Stream<Arguments> neverReleased() {
    Stream<Arguments> single =
        Stream.of("sync", "stage", "mono")
            .flatMap(
                route ->
                    Stream.of(
                        arguments(route, Ending.RETURNED, 503),
                        arguments(route, Ending.MAPPED, 422),
                        arguments(route, Ending.HANDLED, 503),
                        arguments(route, Ending.UNEXPECTED, 500)));
    return Stream.concat(single, Stream.of(arguments("flux", Ending.UNEXPECTED, 500)));
  }

  @ParameterizedTest
  @CsvSource({
    "400, '{\"a\":'",
    "400, []",
    "500, '{\"a\":'",
    "500, []",
    "never, '{\"a\":'",
    "never, []"
  })
  void aSubmissionThatCannotBeBoundMayBeRepeatedWhateverIsListed(String route, String broken) {
    assertThat(bind(route, broken)).isEqualTo(400);
    assertThat(bind(route, "{\"a\":[1]}")).isEqualTo(200);
    assertThat(bind(route, "{\"a\":[1]}")).isEqualTo(409);
  }

  /** With FIN or RST, once the gate has decided. */
  @ParameterizedTest
  @CsvSource({"payments, true", "payments, false", "payments/never, true", "payments/never, false"})
  void aSubmissionThatNeverCameWholeMayBeMade(String route, boolean reset) throws IOException {
    String half =
        """
        POST %s HTTP/1.1\r
        Host: localhost\r
        Content-Type: application/json\r
        Content-Length: 100\r
        X-Order: half\r
        \r
        {"half\
        """
            .formatted(HttpService.path("/release-on/" + route));
    try (Socket client = server.openWith(half)) {
      if (gate) {
        await().until(() -> server.keys().all().size() == 1);
      }
      client.setSoLinger(reset, 0);
    }

    await().until(() -> pay(route) == 200);
    assertThat(pay(route)).isEqualTo(409);
  }

  private int pay(String route) {
    return server.post("/release-on/" + route, "{\"a\":1}", "X-Order", "half").statusCode();
  }

  private int bind(String route, String body) {
    return server.post("/release-on/bound/" + route, body).statusCode();
  }

  private int submit(String route) {
    return server.exchange("POST", "/release-on/" + route, "").statusCode();
  }

  private int submit(String route, Ending end, int status) {
    return submit(route + "?end=" + end + "&status=" + status);
  }

  /** How a call of {@link ReleaseOnRoutes} ends: by a status, or an exception that becomes one. */
  enum Ending {
    RETURNED,
    /** By an {@link Error} method. */
    MAPPED,
    /** By an {@link ExceptionHandler}. */
    HANDLED,
    /** By no handler, so the status is 500. */
    UNEXPECTED;

    /** Returns the answer of this status, or throws what becomes one. */
    HttpResponse<String> end(int status) {
      if (this != RETURNED) {
        throw exception(status);
      }
      return answer(status);
    }

    RuntimeException exception(int status) {
      return switch (this) {
        case MAPPED -> new MappedException(status);
        case HANDLED -> new HandledException(status);
        case UNEXPECTED, RETURNED -> new IllegalStateException("unexpected");
      };
    }

    private static HttpResponse<String> answer(int status) {
      return HttpResponse.<String>status(HttpStatus.valueOf(status)).body("");
    }

    static final class MappedException extends RuntimeException {
      private static final long serialVersionUID = 1L;
      private final int status;

      MappedException(int status) {
        this.status = status;
      }
    }

    static final class HandledException extends RuntimeException {
      private static final long serialVersionUID = 1L;
      private final int status;

      HandledException(int status) {
        this.status = status;
      }
    }

    @Controller
    @Requires(property = "spec.name", value = ReleaseOnRoutes.SPEC)
    static class Mapper {
      @Error(global = true)
      HttpResponse<String> mapped(MappedException e) {
        return answer(e.status);
      }
    }

    @Singleton
    @Requires(property = "spec.name", value = ReleaseOnRoutes.SPEC)
    static class Handler implements ExceptionHandler<HandledException, HttpResponse<?>> {
      @Override
      public HttpResponse<?> handle(
          @SuppressWarnings("rawtypes") HttpRequest request, HandledException e) {
        return answer(e.status);
      }
    }
  }

  /** Submissions of an address that are released by some statuses only, or by none. */
  @Controller("/release-on")
  @Requires(property = "spec.name", value = ReleaseOnRoutes.SPEC)
  static class ReleaseOnRoutes {

    /** Of a caller, by these statuses only. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate =
            @Duplicate(
                releaseOn = {422, 503},
                by = DuplicateBy.CALLER))
    @interface ReleasedOn422And503 {}

    /** By this status only. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(releaseOn = 500))
    @interface ReleasedOn500 {}

    /** Of a caller, and kept whatever happens. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(releaseOnFailure = false, by = DuplicateBy.CALLER))
    @interface NeverReleased {}

    static final String SPEC = "ReleaseOn";

    @Post("/sync")
    @ReleasedOn422And503
    HttpResponse<String> sync(@QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return end.end(status);
    }

    @Post("/stage")
    @ReleasedOn422And503
    CompletionStage<HttpResponse<String>> stage(
        @QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return CompletableFuture.supplyAsync(() -> end.end(status));
    }

    @Post("/stage-throws")
    @ReleasedOn422And503
    CompletionStage<HttpResponse<String>> stageThrows(
        @QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return CompletableFuture.completedFuture(end.end(status));
    }

    @Post("/mono")
    @ReleasedOn422And503
    Mono<HttpResponse<String>> mono(@QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return Mono.fromCallable(() -> end.end(status));
    }

    /** Throws before there is a stream. */
    @Post("/flux-throws")
    @ReleasedOn422And503
    Flux<Integer> fluxThrows(@QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      throw end.exception(status);
    }

    /** Fails within its stream. */
    @Post("/flux")
    @ReleasedOn422And503
    Flux<Integer> flux(@QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return Flux.error(end.exception(status));
    }

    @Post("/500/sync")
    @ReleasedOn500
    String sync500() {
      throw ReleaseOnTest.Ending.UNEXPECTED.exception(500);
    }

    @Post("/500/stage")
    @ReleasedOn500
    CompletionStage<String> stage500() {
      return CompletableFuture.failedFuture(ReleaseOnTest.Ending.UNEXPECTED.exception(500));
    }

    @Post("/500/mono")
    @ReleasedOn500
    Mono<String> mono500() {
      return Mono.error(ReleaseOnTest.Ending.UNEXPECTED.exception(500));
    }

    @Post("/500/flux")
    @ReleasedOn500
    Flux<Integer> flux500() {
      return Flux.error(ReleaseOnTest.Ending.UNEXPECTED.exception(500));
    }

    @Post("/500/flux-begun")
    @ReleasedOn500
    Flux<Integer> fluxBegun500() {
      return Flux.concat(Flux.just(1), Flux.error(ReleaseOnTest.Ending.UNEXPECTED.exception(500)));
    }

    @Post("/never/sync")
    @NeverReleased
    HttpResponse<String> neverSync(@QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return end.end(status);
    }

    @Post("/never/stage")
    @NeverReleased
    CompletionStage<HttpResponse<String>> neverStage(
        @QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return CompletableFuture.supplyAsync(() -> end.end(status));
    }

    @Post("/never/mono")
    @NeverReleased
    Mono<HttpResponse<String>> neverMono(
        @QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return Mono.fromCallable(() -> end.end(status));
    }

    @Post("/never/flux")
    @NeverReleased
    Flux<Integer> neverFlux(@QueryValue ReleaseOnTest.Ending end, @QueryValue int status) {
      return Flux.error(end.exception(status));
    }

    @Post("/payments")
    @RateLimiter(
        header = "X-Order",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 24 * 3_600),
        duplicate =
            @Duplicate(
                by = DuplicateBy.CALLER,
                releaseOn = {402, 500, 503}))
    String pay(@Body Map<String, Integer> body) {
      return "paid";
    }

    @Post("/payments/never")
    @RateLimiter(
        header = "X-Order",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 24 * 3_600),
        duplicate = @Duplicate(by = DuplicateBy.CALLER, releaseOnFailure = false))
    String payNever(@Body Map<String, Integer> body) {
      return "paid";
    }

    @Post("/bound/400")
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(releaseOn = 400, by = DuplicateBy.CALLER))
    String boundOn400(@Body Map<String, List<Integer>> body) {
      return "ok";
    }

    @Post("/bound/500")
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(releaseOn = 500, by = DuplicateBy.CALLER))
    String boundOn500(@Body Map<String, List<Integer>> body) {
      return "ok";
    }

    @Post("/bound/never")
    @NeverReleased
    String boundNever(@Body Map<String, List<Integer>> body) {
      return "ok";
    }
  }
}
