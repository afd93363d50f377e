// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.websocket.WebSocketSession;
import io.micronaut.websocket.annotation.OnMessage;
import io.micronaut.websocket.annotation.OnOpen;
import io.micronaut.websocket.annotation.ServerWebSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** Opening a WebSocket is one call, and no message: who opens too many finds them closed. */
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
      assertThat(end.orTimeout(20, TimeUnit.SECONDS).join()).isEqualTo(1011);
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

      Socket socket = server.context().getBean(Socket.class);
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
            (opened, refused) -> {
              if (refused != null) {
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
