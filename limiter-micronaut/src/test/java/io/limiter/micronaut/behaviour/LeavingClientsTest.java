// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitStore;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Clients that go away, in the middle of their request or while it is decided: what was asked of
 * Redis counts, and nothing of them is left.
 */
class LeavingClientsTest {

  private static final String SPEC = "LeavingClientsTest";

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final FaultProxy proxy = new FaultProxy(redis.port());
  private final ResourceLeakDetector.Level usual = ResourceLeakDetector.getLevel();
  private TestServer server;
  private Witness witness;

  /**
   * @param deadline that of decisions
   */
  private void start(String deadline) {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
    server =
        TestServer.start(
            SPEC,
            Map.of(
                "redis.uri",
                proxy.uri(),
                "limiter.redis.deadline",
                deadline,
                HttpService.AT_ROOT,
                true,
                "micronaut.netty.event-loops.default.num-threads",
                2));
    witness = server.bean(Witness.class);
  }

  @AfterEach
  void close() {
    ResourceLeakDetector.setLevel(usual);
    server.close();
    proxy.close();
    redis.close();
  }

  @Test
  void nothingOfThemIsLeft() throws Exception {
    leave(300);
  }

  @Test
  @Tag("faults")
  void nothingOfThreeThousandIsLeft() throws Exception {
    leave(3_000);
  }

  /** Its command was already sent: the client has used a unit, whether or not it waits. */
  @Test
  void aCallThatWasAskedCounts() throws Exception {
    start("10s"); // whatever the machine does, Redis decides
    proxy.delay(Duration.ofMillis(60));
    for (int asked : new int[] {1, 2, 3}) {
      try (Socket client = connect()) {
        send(client, "GET /leaving/few HTTP/1.1\r\nHost: localhost\r\n\r\n");
        await()
            .until(() -> witness.decisions.pending() > 0 || witness.decisions.decided() >= asked);
        reset(client);
      }
      await().until(() -> witness.decisions.decided() == asked);
    }

    assertThat(server.get("/leaving/few").statusCode()).isEqualTo(429);
  }

  /** It never was a complete request, so it was not decided. */
  @Test
  void halfARequestCountsNothing() throws Exception {
    start("10s");
    for (int i = 0; i < 10; i++) {
      leave(Leaving.IN_THE_HEAD, i);
    }

    for (int i = 0; i < 3; i++) {
      assertThat(server.get("/leaving/few").statusCode()).isEqualTo(200);
    }
  }

  private void leave(int clients) throws Exception {
    start("100ms");
    try (LoggedWarnings warnings = LoggedWarnings.begin()) {
      for (int i = 0; i < clients; i++) {
        if (i % (clients / 4) == 0) { // at once, slowly, too slowly, not at all
          proxy.delay(Duration.ofMillis(i * 4L / clients * 60));
        }
        leave(Leaving.values()[i % Leaving.values().length], i);
      }
      proxy.pass();
      await().atMost(Duration.ofSeconds(20)).until(() -> witness.decisions.pending() == 0);
      assertThat(witness.decisions.failures()).isEmpty();
      assertThat(witness.decisions.decided()).isGreaterThan(clients / 4);
      assertThat(server.get("/leaving/many").statusCode()).isEqualTo(200);

      assertNoRequestIsRetained();
      assertThat(warnings.excess()).isEmpty();
    }
  }

  private void assertNoRequestIsRetained() {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () -> {
              System.gc();
              // Leaks are reported when the next buffers are allocated.
              for (int i = 0; i < 100; i++) {
                ByteBufAllocator.DEFAULT.buffer().release();
              }
              // The last requests of connections that are open, and what a thread's stack still
              // has.
              assertThat(witness.requests.stream().filter(request -> request.get() != null).count())
                  .isLessThanOrEqualTo(16);
            });
  }

  /** How a client goes away. */
  private enum Leaving {
    IN_THE_HEAD("GET /leaving/few HTTP/1.1\r\nHost: loc", 0),
    IN_THE_BODY(
        "POST /leaving/body HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"half",
        1),
    AFTER_THE_REQUEST("GET /leaving/many HTTP/1.1\r\nHost: localhost\r\n\r\n", 1),
    AFTER_ONE_FOR_THE_GUARD(
        "GET /leaving/by-argument?who=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", 1),
    AFTER_THREE("GET /leaving/many HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3), 1);

    final String sent;
    final int millis;

    Leaving(String sent, int millis) {
      this.sent = sent;
      this.millis = millis;
    }
  }

  private void leave(Leaving how, int number) throws Exception {
    try (Socket client = connect()) {
      send(client, how.sent.formatted(number));
      if (number % 2 == 0) {
        Thread.sleep(how.millis); // half of them while the server is at it
      }
      reset(client);
    }
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    socket.setTcpNoDelay(true);
    return socket;
  }

  private static void send(Socket client, String text) throws IOException {
    client.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** With RST in place of FIN, as when a machine is switched off. */
  private static void reset(Socket client) throws IOException {
    client.setSoLinger(true, 0);
    client.close();
  }

  /** Remembers requests weakly, and watches decisions. */
  @Singleton
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Witness implements BeanCreatedEventListener<LimitStore> {

    final Queue<WeakReference<HttpRequest<?>>> requests = new ConcurrentLinkedQueue<>();
    final WatchedStore.Notes decisions = new WatchedStore.Notes();

    @RequestFilter
    void see(HttpRequest<?> request) {
      requests.add(new WeakReference<>(request));
    }

    @Override
    public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
      return new WatchedStore(event.getBean(), decisions);
    }
  }

  @Controller("/leaving")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/many")
    @RateRule(count = 10_000)
    String many() {
      return "ok";
    }

    @Get("/few")
    @RateLimiter(value = "few", rules = @RateRule(count = 3))
    String few() {
      return "ok";
    }

    @Get("/by-argument")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000), preventDuplicate = true)
    String byArgument(@QueryValue String who) {
      return "ok";
    }

    @Post("/body")
    @RateLimiter(rules = @RateRule(count = 10_000))
    String body(@Body Map<String, Object> body) {
      return "ok";
    }
  }
}
