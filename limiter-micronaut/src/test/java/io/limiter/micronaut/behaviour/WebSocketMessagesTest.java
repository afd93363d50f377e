// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.websocket.WebSocketSession;
import io.micronaut.websocket.annotation.OnClose;
import io.micronaut.websocket.annotation.OnMessage;
import io.micronaut.websocket.annotation.OnOpen;
import io.micronaut.websocket.annotation.ServerWebSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/**
 * The messages of one connection are calls of their own, not parts of the request that opened it.
 */
class WebSocketMessagesTest {

  private static final String SPEC = "WebSocketMessagesTest";

  @ServerWebSocket("/messages")
  @Requires(property = "spec.name", value = SPEC)
  static class Messages {

    @OnOpen
    void open(WebSocketSession session) {}

    @OnMessage
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT))
    Mono<String> message(String text, WebSocketSession session) {
      return Mono.from(session.send("done " + text));
    }

    @OnClose
    void close(WebSocketSession session) {}
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void eachMessageFreesItsPlace(boolean gate) throws Exception {
    try (TestServer server =
        TestServer.start(SPEC, Map.of("limiter.gate.enabled", gate, "limiter.fallback", "deny"))) {
      BlockingQueue<String> answers = new LinkedBlockingQueue<>();
      WebSocket client =
          HttpClient.newHttpClient()
              .newWebSocketBuilder()
              .buildAsync(
                  URI.create("ws://localhost:" + server.port() + "/messages"), into(answers))
              .join();
      for (int i = 0; i < 6; i++) {
        client.sendText("message " + i, true).join();
        assertThat(answers.poll(20, TimeUnit.SECONDS)).isEqualTo("done message " + i);
      }
      client.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
    }
  }

  private static WebSocket.Listener into(BlockingQueue<String> answers) {
    return new WebSocket.Listener() {
      @Override
      public CompletionStage<?> onText(WebSocket from, CharSequence text, boolean last) {
        answers.add(text.toString());
        from.request(1);
        return null;
      }
    };
  }
}
