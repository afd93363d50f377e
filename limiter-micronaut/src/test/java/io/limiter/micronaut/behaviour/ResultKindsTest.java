// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.settings;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.behaviour.ResultKindRoutes.Caller;
import io.limiter.micronaut.behaviour.ResultKindRoutes.Waiting;
import io.limiter.micronaut.behaviour.ResultKindRoutes.Way;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Get;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/**
 * Whatever a method returns, and in whatever wrapper: what it costs, what it holds and how it ends
 * are those of what its caller gets. Each route and each method of a plain bean, over Redis.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ResultKindsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final HttpService service = start(true);
  private final HttpService ungated = start(false); // with HTTP/2
  private final HttpClient http2 = HttpClient.newHttpClient();
  private int ids;

  private HttpService start(boolean gate) {
    return HttpService.start(
        ResultKindRoutes.SPEC,
        settings(
            "redis.uri",
            redis.uri(),
            "limiter.redis.deadline",
            "2s",
            "limiter.deny-cache.enabled", // a step that is denied is cached as a call of that cost
            false,
            "micronaut.server.http-version",
            gate ? "1.1" : "2.0",
            "limiter.gate.enabled",
            gate));
  }

  @AfterAll
  void stop() {
    service.close();
    ungated.close();
    redis.close();
  }

  private static List<String> results() {
    return Arrays.stream(ResultKindRoutes.class.getDeclaredMethods())
        .filter(method -> method.isAnnotationPresent(Get.class))
        .map(Method::getName)
        .sorted()
        .toList();
  }

  /** A body that a bean returns is written by its caller, after the call. */
  static Stream<Arguments> table() {
    return results().stream()
        .flatMap(
            result ->
                Arrays.stream(Place.values())
                    .filter(place -> place != Place.BEAN || !isLater(result))
                    .map(place -> arguments(result, place)));
  }

  private static boolean isLater(String result) {
    return result.startsWith("later") || result.startsWith("file");
  }

  static Stream<Arguments> waitingTable() {
    return table().filter(row -> !row.get()[0].toString().startsWith("file"));
  }

  @ParameterizedTest
  @MethodSource("table")
  void aCallCostsWhatItHasReturned(String result, Place place) {
    String id = another();
    for (int i = 0; i < 3; i++) {
      assertThat(call("Costs", result, place, id, Way.OK)).as("call %s", i).isEqualTo(End.OK);
    }
    assertThat(call("Costs", result, place, id, Way.OK)).isEqualTo(End.DENIED);
  }

  @ParameterizedTest
  @MethodSource("waitingTable")
  void aPermitIsHeldUntilTheCallerHasAll(String result, Place place) throws Exception {
    String id = another();
    CompletableFuture<End> first =
        ResultKindRoutes.later(() -> call("Permits", result, place, id, Way.WAIT));
    Waiting.of(id).there().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);

    assertThat(call("Permits", result, place, id, Way.OK)).isEqualTo(End.DENIED);

    Waiting.of(id).go().complete(null);
    assertThat(first.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isEqualTo(End.OK);
    for (Way way : new Way[] {Way.OK, Way.FAIL, Way.OK, Way.OK}) {
      assertThat(call("Permits", result, place, id, way)).isNotEqualTo(End.DENIED);
    }
  }

  @ParameterizedTest
  @MethodSource("table")
  void whatFailsInTheEndHasFailed(String result, Place place) {
    for (String feature : new String[] {"Failures", "Selected"}) {
      String id = another();
      for (Way way : new Way[] {Way.OK, Way.OK, Way.OK, Way.FAIL, Way.OK}) {
        assertThat(call(feature, result, place, id, way))
            .as("%s %s", feature, way)
            .isEqualTo(way == Way.OK ? End.OK : End.FAILED);
      }
      assertThat(call(feature, result, place, id, Way.FAIL)).as(feature).isEqualTo(End.FAILED);
      assertThat(call(feature, result, place, id, Way.OK)).as(feature).isEqualTo(End.DENIED);
    }
  }

  /** Its method has returned, and its body is not there yet. */
  @Test
  void aClientThatLeavesFreesThePermitOfABodyThatIsWritten() throws Exception {
    String id = another();
    try (Socket client = service.open("/kinds/permits/later-input?way=WAIT&id=" + id, "X-Id", id)) {
      Waiting.of(id).there().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
      assertThat(call("Permits", "value", Place.GATE, id, Way.OK)).isEqualTo(End.OK);
      assertThat(call("Permits", "laterInput", Place.GATE, id, Way.OK)).isEqualTo(End.DENIED);
      client.setSoLinger(true, 0);
    }
    await()
        .atMost(PATIENCE)
        .until(() -> call("Permits", "laterInput", Place.GATE, id, Way.OK) == End.OK);
    Waiting.of(id).go().complete(null);
  }

  @ParameterizedTest
  @ValueSource(strings = {"later-input", "later-writable", "file", "stream-response"})
  void aRequestWithoutABodyFreesItsPermit(String path) {
    String id = another();
    for (int i = 0; i < 3; i++) {
      assertThat(
              service
                  .exchange("HEAD", "/kinds/permits/" + path + "?way=OK&id=" + id, "", "X-Id", id)
                  .statusCode())
          .isEqualTo(200);
    }
  }

  /** The server decides on its status as it writes it. */
  @Test
  void aPartOfAFileFreesItsPermit() {
    String id = another();
    for (int i = 0; i < 3; i++) {
      java.net.http.HttpResponse<String> part =
          service.get("/kinds/permits/file?way=OK&id=" + id, "X-Id", id, "Range", "bytes=1-3");
      assertThat(part.statusCode()).isEqualTo(206);
      assertThat(part.body()).isEqualTo("xxx");
    }
  }

  /** Who decides a call: the gate or the guard of a route, or the guard of another bean. */
  private enum Place {
    GATE,
    GUARD,
    BEAN
  }

  private enum End {
    OK,
    FAILED,
    DENIED
  }

  private String another() {
    Caller.id = "caller-" + ids++;
    return Caller.id;
  }

  private End call(String feature, String result, Place place, String id, Way way) {
    return place == Place.BEAN
        ? invoke(feature, result, id, way)
        : request(place, feature, result, id, way);
  }

  private End request(Place place, String feature, String result, String id, Way way) {
    try {
      String path =
          "/kinds/%s/%s?id=%s&way=%s"
              .formatted(
                  feature.toLowerCase(Locale.ROOT),
                  result.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT),
                  id,
                  way);
      java.net.http.HttpResponse<String> answer =
          (place == Place.GATE
                  ? service.getAsync(path, "X-Id", id)
                  : http2.sendAsync(
                      HttpRequest.newBuilder(
                              URI.create(
                                  "http://localhost:" + ungated.port() + HttpService.path(path)))
                          .header("X-Id", id)
                          .build(),
                      BodyHandlers.ofString()))
              .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
              .join();
      assertThat(answer.version())
          .isEqualTo(place == Place.GATE ? Version.HTTP_1_1 : Version.HTTP_2);
      if (answer.statusCode() == 429) {
        return End.DENIED;
      }
      if (answer.statusCode() >= 500) {
        return End.FAILED;
      }
      assertThat(answer.body()).isEqualTo("xxxxx");
      return End.OK;
    } catch (CompletionException cut) {
      assertThat(cut).hasCauseInstanceOf(IOException.class);
      return End.FAILED;
    }
  }

  private End invoke(String feature, String result, String id, Way way) {
    try {
      Class<?> type = Class.forName(ResultKindRoutes.class.getName() + "$" + feature + "Bean");
      Object bean = service.bean(type);
      Method method = ResultKindRoutes.class.getDeclaredMethod(result, String.class, Way.class);
      method.setAccessible(true);
      assertThat(text(method.invoke(bean, id, way))).isEqualTo("xxxxx");
      return End.OK;
    } catch (ReflectiveOperationException | RuntimeException failure) {
      Throwable cause = failure;
      while (cause instanceof InvocationTargetException || cause instanceof CompletionException) {
        cause = cause.getCause();
      }
      return cause instanceof RateLimitExceededException ? End.DENIED : End.FAILED;
    }
  }

  /** What a caller reads. */
  private static String text(Object result) {
    if (result instanceof CompletionStage<?> stage) {
      return text(stage.toCompletableFuture().join());
    }
    if (result instanceof Optional<?> optional) {
      return text(optional.orElseThrow());
    }
    if (result instanceof HttpResponse<?> response) {
      return text(response.body());
    }
    if (result instanceof Publisher<?> publisher) {
      return String.join(
          "", Flux.from(publisher).map(ResultKindsTest::text).collectList().block(PATIENCE));
    }
    return (String) result;
  }
}
