// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.websocket.WebSocketSession;
import io.micronaut.websocket.annotation.OnError;
import io.micronaut.websocket.annotation.OnMessage;
import io.micronaut.websocket.annotation.OnOpen;
import io.micronaut.websocket.annotation.ServerWebSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Opening a WebSocket is one call, and no message: who opens too many finds them closed. */
@Tag("matrix")
class UpgradesTest {

  private static final String SPEC = "UpgradesTest";

  @ServerWebSocket("/upgrades")
  @Requires(property = "spec.name", value = SPEC)
  static class Socket {

    final AtomicInteger opened = new AtomicInteger();

    @OnOpen
    @RateRule(count = 2, time = 60)
    Mono<String> open(WebSocketSession session) {
      opened.incrementAndGet();
      return Mono.just("welcome");
    }

    @OnMessage
    String message(String text, WebSocketSession session) {
      return text;
    }
  }

  /** Micronaut takes the method that is written first for the route. */
  @ServerWebSocket("/messages-first")
  @Requires(property = "spec.name", value = SPEC)
  static class MessagesFirst {

    @OnMessage
    @RateRule(count = 1, time = 60)
    Mono<String> message(String text, WebSocketSession session) {
      return Mono.just("done " + text);
    }

    @OnOpen
    void open(WebSocketSession session) {}
  }

  @ServerWebSocket("/sync")
  @Requires(property = "spec.name", value = SPEC)
  static class Sync {
    @OnOpen
    @RateRule(count = 1, time = 60)
    void open(WebSocketSession session) {}

    @OnMessage
    void message(String text) {}
  }

  @ServerWebSocket("/stage")
  @Requires(property = "spec.name", value = SPEC)
  static class Stage {
    @OnOpen
    @RateRule(count = 1, time = 60)
    CompletionStage<String> open() {
      return CompletableFuture.completedFuture("welcome");
    }

    @OnMessage
    void message(String text) {}
  }

  @ServerWebSocket("/flux")
  @Requires(property = "spec.name", value = SPEC)
  static class Stream {
    @OnOpen
    @RateRule(count = 1, time = 60)
    Flux<String> open(WebSocketSession session) {
      return Flux.just("wel", "come");
    }

    @OnMessage
    void message(String text) {}
  }

  /** No wait makes room for three of two. */
  @ServerWebSocket("/costly{?units}")
  @Requires(property = "spec.name", value = SPEC)
  static class Costly {
    @OnOpen
    @RateLimiter(rules = @RateRule(count = 2, time = 60), cost = "#{units}")
    Mono<String> open(@QueryValue int units) {
      return Mono.just("welcome");
    }

    @OnMessage
    void message(String text) {}
  }

  /** When its permit is free is unknown. */
  @ServerWebSocket("/busy")
  @Requires(property = "spec.name", value = SPEC)
  static class Busy {
    @OnOpen
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Mono<String> open() {
      return Mono.never();
    }

    @OnMessage
    void message(String text) {}
  }

  @ServerWebSocket("/same")
  @Requires(property = "spec.name", value = SPEC)
  static class Same {
    @OnOpen
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.CALLER))
    Mono<String> open() {
      return Mono.just("welcome");
    }

    @OnMessage
    void message(String text) {}
  }

  @ServerWebSocket("/seen")
  @Requires(property = "spec.name", value = SPEC)
  static class Seen {

    final BlockingQueue<Throwable> errors = new LinkedBlockingQueue<>();

    @OnOpen
    @RateRule(count = 1, time = 60)
    Mono<String> open() {
      return Mono.just("welcome");
    }

    @OnMessage
    void message(String text) {}

    @OnError
    void error(Throwable error) {
      errors.add(error);
    }
  }

  /** Micronaut 4 drops what a stage of a message fails with, Micronaut 5 logs it. */
  @ServerWebSocket("/dropped")
  @Requires(property = "spec.name", value = SPEC)
  static class Dropped {

    @OnOpen
    void open(WebSocketSession session) {}

    @OnMessage
    @RateRule(count = 1, time = 60)
    CompletionStage<String> message(String text) {
      return CompletableFuture.completedFuture(text);
    }

    @OnError
    void error(Throwable error) {}
  }

  @ParameterizedTest
  @CsvSource({
    "upgrades, 2, 1013",
    "sync, 1, 1013",
    "stage, 1, 1013",
    "flux, 1, 1013",
    "busy, 1, 1013",
    "same, 1, 1013",
    "costly?units=3, 0, 1008"
  })
  void aDenialIsOneLineAtDebugLevel(String path, int admitted, int status) {
    for (boolean gate : new boolean[] {true, false}) {
      try (Logged logged = new Logged()) {
        try (TestServer server = TestServer.start(SPEC, Map.of("limiter.gate.enabled", gate))) {
          for (int i = 0; i < admitted; i++) {
            open(server, "/" + path, new CompletableFuture<>()).join();
          }
          await().until(() -> server.keys().all().size() == Math.min(admitted, 1));
          CompletableFuture<Integer> end = new CompletableFuture<>();
          open(server, "/" + path, end);
          assertThat(end.orTimeout(20, TimeUnit.SECONDS).join()).isEqualTo(status);
        }
        logged.assertOneDenial("the WebSocket is closed with " + status);
      }
    }
  }

  @Test
  void aDeniedMessageIsOneLineAtDebugLevelToo() {
    try (Logged logged = new Logged()) {
      try (TestServer server = TestServer.start(SPEC)) {
        CompletableFuture<Integer> end = new CompletableFuture<>();
        WebSocket socket = open(server, "/messages-first", end).join();
        socket.sendText("one", true).join();
        await().until(() -> server.keys().all().size() == 1);
        socket.sendText("two", true).join();
        assertThat(end.orTimeout(20, TimeUnit.SECONDS).join()).isEqualTo(1013);
      }
      logged.assertOneDenial("the WebSocket is closed with 1013");
    }
  }

  @Test
  void anErrorMethodIsGivenTheDenial() throws InterruptedException {
    try (TestServer server = TestServer.start(SPEC)) {
      open(server, "/seen", new CompletableFuture<>()).join();
      await().until(() -> server.keys().all().size() == 1);
      CompletableFuture<Integer> end = new CompletableFuture<>();
      open(server, "/seen", end);
      assertThat(server.bean(Seen.class).errors.poll(20, TimeUnit.SECONDS))
          .isInstanceOf(RateLimitExceededException.class);
      assertThat(end.orTimeout(20, TimeUnit.SECONDS).join()).isEqualTo(1011);
    }
  }

  @Test
  void aDenialLeftToAnErrorMethodIsOneLineAtDebugLevel() {
    try (Logged logged = new Logged();
        TestServer server = TestServer.start(SPEC)) {
      WebSocket socket = open(server, "/dropped", new CompletableFuture<>()).join();
      socket.sendText("one", true).join();
      socket.sendText("two", true).join();
      await().untilAsserted(() -> logged.assertOneDenial("that is left to its @OnError method"));
    }
  }

  /** What is logged of denials, and all that is logged as a warning or an error. */
  private static final class Logged implements AutoCloseable {

    private static final Logger ROOT = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    private static final Logger DENIALS =
        (Logger) LoggerFactory.getLogger("io.limiter.micronaut.intercept.GuardedCall");
    private static final Logger SOCKETS =
        (Logger) LoggerFactory.getLogger("io.micronaut.http.server.netty.websocket");

    /** A server that stops closes the sockets that are left, sometimes after its context. */
    private static final String AT_THE_STOP = "Error publishing WebSocket closed event";

    /** Of Micronaut 5 itself, for a failed stage that an {@code @OnError} method receives. */
    private static final String OF_STAGES = "Error Processing WebSocket Message";

    private final AppenderBase<ILoggingEvent> appender =
        new AppenderBase<>() {
          @Override
          protected void append(ILoggingEvent event) {
            if (event.getLoggerName().equals(DENIALS.getName())
                || (event.getLevel().isGreaterOrEqual(Level.WARN)
                    && !event.getMessage().startsWith(AT_THE_STOP)
                    && !(MicronautVersion.IS_5 && event.getMessage().startsWith(OF_STAGES)))) {
              lines.add(event);
            }
          }
        };
    private final Queue<ILoggingEvent> lines = new ConcurrentLinkedQueue<>();
    private final Level sockets = SOCKETS.getLevel();

    Logged() {
      SOCKETS.setLevel(Level.ERROR);
      DENIALS.setLevel(Level.DEBUG);
      appender.start();
      ROOT.addAppender(appender);
    }

    void assertOneDenial(String words) {
      assertThat(lines)
          .singleElement()
          .satisfies(
              line -> {
                assertThat(line.getLevel()).isEqualTo(Level.DEBUG);
                assertThat(line.getFormattedMessage()).contains("UpgradesTest", words);
              });
    }

    @Override
    public void close() {
      ROOT.detachAppender(appender);
      DENIALS.setLevel(null);
      SOCKETS.setLevel(sockets);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void openingItTakesNothingFromItsMessages(boolean gate) {
    try (TestServer server = TestServer.start(SPEC, Map.of("limiter.gate.enabled", gate))) {
      CompletableFuture<Integer> end = new CompletableFuture<>();
      WebSocket socket = open(server, "/messages-first", end).join();
      socket.sendText("one", true).join();
      await().untilAsserted(() -> assertThat(server.keys().all()).hasSize(1));
      assertThat(end).isNotDone();

      socket.sendText("two", true).join();
      assertThat(end.orTimeout(20, TimeUnit.SECONDS).join()).isEqualTo(1013);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFloodOfThemOpensAsManyAsTheLimitAdmits(boolean gate) {
    try (TestServer server = TestServer.start(SPEC, Map.of("limiter.gate.enabled", gate))) {
      List<CompletableFuture<Integer>> ends = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        CompletableFuture<Integer> end = new CompletableFuture<>();
        ends.add(end);
        open(server, "/upgrades", end);
      }

      Socket socket = server.bean(Socket.class);
      await()
          .untilAsserted(
              () -> {
                assertThat(ends).filteredOn(CompletableFuture::isDone).hasSize(3);
                assertThat(socket.opened).hasValue(2);
              });
    }
  }

  private static CompletableFuture<WebSocket> open(
      TestServer server, String path, CompletableFuture<Integer> end) {
    return HttpClient.newHttpClient()
        .newWebSocketBuilder()
        .buildAsync(URI.create("ws://localhost:" + server.port() + path), new Listener(end))
        .whenComplete(
            (opened, failure) -> {
              if (failure != null) {
                end.complete(-1);
              }
            });
  }

  private record Listener(CompletableFuture<Integer> end) implements WebSocket.Listener {
    @Override
    public CompletionStage<?> onClose(WebSocket socket, int status, String reason) {
      end.complete(status);
      return null;
    }

    @Override
    public void onError(WebSocket socket, Throwable error) {
      end.complete(-1);
    }
  }
}
