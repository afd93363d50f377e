// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.behaviour.LimitedRoutesContract.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LeakyBucket;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.micronaut.testing.StatedCallers;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;

/** Calls that come early wait for their turn, whatever kind they are of. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class WaitingContract {

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final long INTERVAL = 250;

  /** What a thread may have to wait for one of two cores that others use too. */
  private static final long NOISE = 200;

  private TestServer server;
  private Departures departures;
  private WaitingRoutes.Service service;
  private int callers;
  private String caller = "";

  abstract boolean gate();

  @BeforeAll
  void start() {
    server =
        TestServer.start(
            WaitingRoutes.SPEC,
            Map.of(
                "limiter.gate.enabled",
                gate(),
                "limiter.fallback",
                "deny", // so that it is Redis which decides
                "test.stated-callers",
                true));
    departures = server.context().getBean(Departures.class);
    service = server.context().getBean(WaitingRoutes.Service.class);
  }

  @AfterAll
  void stop() {
    server.close();
  }

  /** Nobody has met him. */
  @BeforeEach
  void newCaller() {
    caller = "caller-" + callers++;
    departures.clear();
    limiter().reset(slow()).toCompletableFuture().join();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sync",
        "stage",
        "mono",
        "flux",
        "body",
        "argument?who=",
        "waits-in-a-thread?who=",
        "bean/stage",
        "bean/mono",
        "bean/flux"
      })
  void oneBeginsAtOnceThreeWaitAndTheRestIsRefused(String route) {
    List<CompletableFuture<HttpResponse<String>>> calls =
        IntStream.range(0, 6).mapToObj(i -> call(route)).toList();

    List<HttpResponse<String>> answers = calls.stream().map(CompletableFuture::join).toList();
    assertThat(answers).extracting(HttpResponse::statusCode).containsOnly(200, 429);
    List<HttpResponse<String>> refused =
        answers.stream().filter(answer -> answer.statusCode() == 429).toList();
    assertThat(refused).hasSize(2);
    if (!route.startsWith("bean")) {
      assertThat(refused).allSatisfy(r -> assertThat(field(r, "Retry-After")).isEqualTo("1"));
    }
    List<Duration> spaced = departures.sinceFirst();
    assertThat(spaced).hasSize(3);
    for (int i = 0; i < 3; i++) {
      long planned = (i + 1) * INTERVAL;
      assertThat(spaced.get(i).toMillis()).isBetween(planned - NOISE, planned + NOISE);
    }
  }

  @Test
  void whoWaitsHasNoThread() {
    call("mono").join(); // whatever is started with the first
    await().during(Duration.ofMillis(2 * INTERVAL)).until(() -> true);
    long before = threads();
    List<CompletableFuture<HttpResponse<String>>> calls =
        IntStream.range(0, 200).mapToObj(i -> callOf("stage", "caller-of-many-" + i % 50)).toList();

    await().atMost(PATIENCE).until(() -> departures.count() > 50);
    long during = threads();
    assertThat(calls).allSatisfy(answer -> assertThat(answer.join().statusCode()).isEqualTo(200));
    assertThat(during).isLessThanOrEqualTo(before + 2);
  }

  /** All but those of the client. */
  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !thread.getName().startsWith("HttpClient"))
        .count();
  }

  @ParameterizedTest
  @ValueSource(strings = {"slow", "slow-argument?who="})
  void whoGoesAwayFreesHisPlaceAndIsNotServed(String route) throws Exception {
    assertThat(call(route).join().statusCode()).isEqualTo(200);
    for (int i = 0; i < 5; i++) {
      leaveWhileWaiting(route);
    }

    assertThat(departures.count()).isEqualTo(1);
  }

  /** It has come: that is what the other rule counts. */
  @Test
  void whoGoesAwayCountsForOtherRules() throws Exception {
    assertThat(call("stacked").join().statusCode()).isEqualTo(200);
    leaveWhileWaiting("stacked");
    leaveWhileWaiting("stacked");

    HttpResponse<String> refused = call("stacked").join();
    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(Long.parseLong(field(refused, "Retry-After"))).isGreaterThan(3_000);
  }

  @Test
  void aSubscriberWhoCancelsFreesHisPlace() {
    assertThat(service.slowMono().block(PATIENCE)).isEqualTo("departed");
    for (int i = 0; i < 5; i++) {
      Disposable waiting = service.slowMono().subscribe();
      awaitFull();
      waiting.dispose();
      awaitRoom();
    }

    assertThat(departures.count()).isEqualTo(1);
  }

  @Test
  void whoCancelsAStageFreesHisPlace() {
    assertThat(service.slowStage().toCompletableFuture().join()).isEqualTo("departed");
    for (int i = 0; i < 5; i++) {
      CompletableFuture<String> waiting = service.slowStage().toCompletableFuture();
      awaitFull();
      waiting.cancel(false);
      awaitRoom();
    }

    assertThat(departures.count()).isEqualTo(1);
  }

  @Test
  void aThreadThatIsInterruptedFreesItsPlace() throws Exception {
    assertThat(service.slowSync()).isEqualTo("departed");
    Thread waiting = new Thread(() -> assertThatThrownBy(service::slowSync).isNotNull());
    waiting.start();
    awaitFull();
    waiting.interrupt();
    waiting.join(PATIENCE.toMillis());
    awaitRoom();

    assertThat(departures.count()).isEqualTo(1);
  }

  private void awaitFull() {
    await().atMost(PATIENCE).until(() -> !hasRoom());
  }

  private void awaitRoom() {
    await().atMost(PATIENCE).until(this::hasRoom);
  }

  private boolean hasRoom() {
    return limiter().peek(slow()).toCompletableFuture().join().allowed();
  }

  private Limiter limiter() {
    return server.context().getBean(Limiter.class);
  }

  private static LimitRequest slow() {
    LeakyBucket rule =
        LeakyBucket.of(1, Duration.ofMinutes(1), 1, Duration.ofMinutes(1)).withFair(false);
    return LimitRequest.of(Policy.of("slow-service", rule), Subject.global());
  }

  /** Waits until the queue is full, goes away with RST, and waits until it has room. */
  private void leaveWhileWaiting(String route) throws IOException {
    int before = server.keys().all().hashCode();
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      client
          .getOutputStream()
          .write(
              "GET %s HTTP/1.1\r\nHost: localhost\r\n%s: %s\r\n\r\n"
                  .formatted(path(route, caller), StatedCallers.ADDRESS, caller)
                  .getBytes(StandardCharsets.US_ASCII));
      await().atMost(PATIENCE).until(() -> server.keys().all().hashCode() != before);
      int waiting = server.keys().all().hashCode();
      client.setSoLinger(true, 0);
      client.close();
      await().atMost(PATIENCE).until(() -> server.keys().all().hashCode() != waiting);
    }
  }

  private CompletableFuture<HttpResponse<String>> call(String route) {
    return callOf(route, caller);
  }

  private CompletableFuture<HttpResponse<String>> callOf(String route, String who) {
    return route.equals("body")
        ? server.exchangeAsync(
            "POST",
            "/waiting/body",
            "{\"a\":1}",
            "Content-Type",
            "application/json",
            StatedCallers.ADDRESS,
            who)
        : server.getAsync(path(route, who), StatedCallers.ADDRESS, who);
  }

  private static String path(String route, String who) {
    return "/waiting/" + (route.endsWith("=") ? route + who : route);
  }
}
