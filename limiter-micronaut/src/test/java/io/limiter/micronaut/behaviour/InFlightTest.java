// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.testing.StatedCallers;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Two calls of a caller run at once, whatever kind they are of and however they end. */
@Tag("matrix")
class InFlightTest extends WithAndWithoutGate {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private RunningCalls calls;

  InFlightTest() {
    super(InFlightRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @BeforeParameterizedClassInvocation
  void findBeans() {
    calls = server.bean(RunningCalls.class);
  }

  @AfterEach
  void endAll() {
    calls.end("late");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sync",
        "stage",
        "mono",
        "flux",
        "within",
        "argument?who=",
        "body",
        "stacked",
        "bean/stage",
        "bean/mono",
        "bean/flux"
      })
  void twoRunAtOnceAndAPermitIsFreeAfterTheResponse(String route) {
    for (int round = 0; round < 3; round++) {
      List<CompletableFuture<HttpResponse<String>>> two = begin(route, 2);
      assertThat(call(route).join().statusCode()).isEqualTo(429);

      calls.end("done");

      assertThat(two)
          .allSatisfy(
              answer -> {
                assertThat(answer.join().statusCode()).isEqualTo(200);
                assertThat(answer.join().body()).contains("done");
              });
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"sync", "stage", "mono", "argument?who=", "body", "bean/stage", "bean/mono"})
  void aCallThatFailsFreesItsPlaceToo(String route) {
    for (int round = 0; round < 3; round++) {
      List<CompletableFuture<HttpResponse<String>>> two = begin(route, 2);

      calls.fail();

      assertThat(two).allSatisfy(answer -> assertThat(answer.join().statusCode()).isEqualTo(500));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"flux", "within"})
  void aStreamThatFailsAfterItHasBegunFreesItsPlace(String route) {
    begin(route, 2);

    calls.fail();

    awaitPlace(route);
  }

  @Test
  void aRouteThatCallsItselfHoldsAPlaceForEachCallUntilItsAnswer() {
    for (int round = 0; round < 3; round++) {
      List<CompletableFuture<HttpResponse<String>>> both = begin("twice", 1);
      assertThat(call("twice").join().statusCode()).isEqualTo(429);

      calls.end("done");

      assertThat(both.get(0).join().statusCode()).isEqualTo(200);
    }
  }

  /** The denial of the inner call is the response; the outer one has ended with it. */
  @Test
  void aRouteThatCannotCallItselfFreesItsPlace() {
    for (int round = 0; round < 3; round++) {
      List<CompletableFuture<HttpResponse<String>>> one = begin("twice?again=false", 1);
      assertThat(call("twice").join().statusCode()).isEqualTo(429);

      calls.end("done");

      assertThat(one.get(0).join().statusCode()).isEqualTo(200);
    }
  }

  @Test
  void noWaitIsReportedForAConcurrencyPermit() {
    begin("stage", 2);

    HttpResponse<String> denied = call("stage").join();

    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(field(denied, "RateLimit-Policy"))
        .isEqualTo("\"2-in-flight\";q=2;qu=\"concurrent-requests\"");
    assertThat(field(denied, "RateLimit")).isEqualTo("\"2-in-flight\";r=0");
    assertThat(denied.headers().firstValue("Retry-After")).isEmpty();
    assertThat(denied.body())
        .contains(
            "\"logref\":\"rate_limited\"",
            "Too many requests at the same time, try again when one has ended");
  }

  @Test
  void aCallInFlightTakesOnePlaceWhateverItCostsAndOneDeniedTakesNothing() {
    List<CompletableFuture<HttpResponse<String>>> two = begin("stacked", 2);
    HttpResponse<String> denied = call("stacked").join();

    assertThat(field(denied, "RateLimit-Policy"))
        .isEqualTo("\"100-per-60s\";q=100;w=60, \"places\";q=2;qu=\"concurrent-requests\"");
    assertThat(field(denied, "RateLimit")).matches("\"100-per-60s\";r=90;t=\\d+, \"places\";r=0");
    calls.end("done");
    two.forEach(CompletableFuture::join);
    begin("stacked", 1);
    calls.end("done");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"a\":", "[]", "{\"a\":\"many\"}"})
  void aCallWhoseBodyIsBrokenHoldsNoPlace(String broken) {
    for (int i = 0; i < 4; i++) {
      assertThat(post(broken).join().statusCode()).isEqualTo(400);
    }
    begin("body", 2);
  }

  /**
   * Its response is written without effect: the server is not notified that its client has
   * disconnected.
   */
  @ParameterizedTest
  @ValueSource(strings = {"stage", "mono", "sync", "argument?who="})
  void aCallWhoseCallerHasGoneHoldsItsPlaceUntilItEnds(String route) throws IOException {
    leave(route);
    begin(route, 1);
    assertThat(call(route).join().statusCode()).isEqualTo(429);

    calls.end("done");

    CompletableFuture<HttpResponse<String>> other = awaitPlace(route);
    calls.end("done");
    assertThat(other.join().statusCode()).isEqualTo(200);
    begin(route, 2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"flux", "within"})
  void aStreamWhoseReaderHasGoneFreesItsPlace(String route) throws IOException {
    leave(route);
    leave(route);

    awaitPlace(route);
  }

  @Test
  void aHeadOfAStreamHoldsNoPlace() {
    for (int i = 0; i < 4; i++) {
      server.exchange("HEAD", "/in-flight/flux", "", StatedCallers.ADDRESS, caller);
    }

    awaitPlace("flux");
  }

  /** The first two filters answer inside of the limiter's own, the others outside of it. */
  @ParameterizedTest
  @CsvSource({"stage, 504", "sync, 504", "stage, 503", "sync, 503"})
  void aCallThatAFilterDoesNotWaitForHoldsItsPlaceUntilItEnds(String route, int status) {
    String timed = "timed/" + status + "/" + route;
    for (int call = 0; call < 2; call++) {
      assertThat(call(timed).join().statusCode()).isEqualTo(status);
    }
    assertThat(calls.count()).isEqualTo(2);
    for (int call = 0; call < 3; call++) {
      assertThat(call(timed).join().statusCode()).isEqualTo(429);
    }

    calls.end("too late");

    awaitPlace(timed);
  }

  /** Nothing ends it, so its place is free a time limit later. */
  @Test
  void aCallThatAFilterDoesNotWaitForAndThatNeverEndsIsNotRenewed() {
    assertThat(call("timed/504/permit").join().statusCode()).isEqualTo(504);
    assertThat(call("timed/504/permit").join().statusCode()).isEqualTo(429);

    awaitPlace("timed/504/permit");
  }

  /**
   * Its place is free after the time of one permit, however long it drips; once it runs it has one
   * again.
   */
  @Test
  void aBodyThatDripsHoldsItsPlaceForOneLeaseOnly() throws IOException {
    int length = 10_000;
    Set<String> keys = server.keys().all().keySet(); // some of which may end meanwhile
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      OutputStream out = client.getOutputStream();
      String head =
          "POST /in-flight/permit-body HTTP/1.1\r\nHost: localhost\r\n%s: %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n"
              .formatted(StatedCallers.ADDRESS, caller, length);
      out.write((head + "{\"a\":1").getBytes(StandardCharsets.US_ASCII));
      AtomicInteger left = new AtomicInteger(length - 7);
      AtomicReference<CompletableFuture<HttpResponse<String>>> entered = new AtomicReference<>();
      if (gate) {
        await().atMost(PATIENCE).until(() -> !keys.containsAll(server.keys().all().keySet()));
      }

      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                out.write(' ');
                left.decrementAndGet();
                CompletableFuture<HttpResponse<String>> other = call("permit-body");
                await().atMost(PATIENCE).until(() -> other.isDone() || calls.count() == 1);
                entered.set(other);
                return calls.count() == 1;
              });
      calls.end("done");
      assertThat(entered.get().join().statusCode()).as("its place is free").isEqualTo(200);
      out.write(" ".repeat(left.get()).getBytes(StandardCharsets.US_ASCII));
      out.write('}');

      await().atMost(PATIENCE).until(() -> calls.count() == 1);
      await()
          .during(Duration.ofMillis(1_500)) // one and a half times as long
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(50))
          .until(() -> call("permit-body").join().statusCode() == 429);
    }
  }

  @Test
  void theLeaseOfACallIsRenewedWhileItRuns() {
    CompletableFuture<HttpResponse<String>> first = begin("permit", 1).get(0);

    await()
        .during(Duration.ofMillis(2_500)) // two and a half times as long
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(50))
        .until(() -> call("permit").join().statusCode() == 429);
    calls.end("done");
    assertThat(first.join().statusCode()).isEqualTo(200);
    begin("permit", 1);
  }

  /** Calls until a call runs. */
  private CompletableFuture<HttpResponse<String>> awaitPlace(String route) {
    int running = calls.count();
    AtomicReference<CompletableFuture<HttpResponse<String>>> last = new AtomicReference<>();
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              CompletableFuture<HttpResponse<String>> answer = call(route);
              last.set(answer);
              await().atMost(PATIENCE).until(() -> answer.isDone() || calls.count() > running);
              return calls.count() > running;
            });
    return last.get();
  }

  /** Calls until so many more run. */
  private List<CompletableFuture<HttpResponse<String>>> begin(String route, int more) {
    int before = calls.count();
    List<CompletableFuture<HttpResponse<String>>> begun =
        IntStream.range(0, more).mapToObj(i -> call(route)).toList();
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                calls.count() == before + more
                    || begun.stream().anyMatch(CompletableFuture::isDone));
    assertThat(begun).as("%s is denied", route).noneMatch(CompletableFuture::isDone);
    return begun;
  }

  private CompletableFuture<HttpResponse<String>> call(String route) {
    return route.endsWith("body")
        ? post(route, "{\"a\":1}")
        : server.getAsync(path(route), StatedCallers.ADDRESS, caller);
  }

  private CompletableFuture<HttpResponse<String>> post(String json) {
    return post("body", json);
  }

  private CompletableFuture<HttpResponse<String>> post(String route, String json) {
    return server.postAsync(path(route), json, StatedCallers.ADDRESS, caller);
  }

  private String path(String route) {
    return "/in-flight/" + (route.endsWith("=") ? route + caller : route);
  }

  /** Calls, and goes away with RST once the call runs, as when a machine is switched off. */
  private void leave(String route) throws IOException {
    int before = calls.count();
    try (Socket client = server.open(path(route), StatedCallers.ADDRESS, caller)) {
      await().atMost(PATIENCE).until(() -> calls.count() == before + 1);
      client.setSoLinger(true, 0);
    }
  }
}
