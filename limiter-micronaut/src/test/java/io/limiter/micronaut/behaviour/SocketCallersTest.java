// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.micronaut.websocket.WebSocketSession;
import io.micronaut.websocket.annotation.OnMessage;
import io.micronaut.websocket.annotation.OnOpen;
import io.micronaut.websocket.annotation.ServerWebSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The caller of a WebSocket's method is who opened that, on whatever executor and of whatever kind
 * the method is.
 */
class SocketCallersTest {

  private static final String SPEC = "SocketCallersTest";

  @ServerWebSocket("/callers/mono")
  @Requires(property = "spec.name", value = SPEC)
  static class MonoSocket {
    @OnOpen
    void open() {}

    @OnMessage
    @RateLimiter(header = "X-Name", rules = @RateRule(count = 2, time = 60))
    Mono<String> message(String text, WebSocketSession session) {
      return Mono.from(session.send("done " + text));
    }
  }

  @ServerWebSocket("/callers/mono-elsewhere")
  @Requires(property = "spec.name", value = SPEC)
  static class MonoElsewhere {
    @OnOpen
    void open() {}

    @OnMessage
    @ExecuteOn(TaskExecutors.IO)
    @RateLimiter(header = "X-Name", rules = @RateRule(count = 2, time = 60))
    Mono<String> message(String text, WebSocketSession session) {
      return Mono.from(session.send("done " + text));
    }
  }

  @ServerWebSocket("/callers/flux-elsewhere")
  @Requires(property = "spec.name", value = SPEC)
  static class FluxElsewhere {
    @OnOpen
    void open() {}

    @OnMessage
    @ExecuteOn(TaskExecutors.IO)
    @RateLimiter(header = "X-Name", rules = @RateRule(count = 2, time = 60))
    Flux<String> message(String text, WebSocketSession session) {
      return Flux.from(session.send("done " + text));
    }
  }

  @ServerWebSocket("/callers/stage-elsewhere")
  @Requires(property = "spec.name", value = SPEC)
  static class StageElsewhere {
    @OnOpen
    void open() {}

    @OnMessage
    @ExecuteOn(TaskExecutors.IO)
    @RateLimiter(header = "X-Name", rules = @RateRule(count = 2, time = 60))
    CompletionStage<String> message(String text, WebSocketSession session) {
      session.sendSync("done " + text);
      return CompletableFuture.completedFuture(text);
    }
  }

  @ServerWebSocket("/callers/sync-elsewhere")
  @Requires(property = "spec.name", value = SPEC)
  static class SyncElsewhere {
    @OnOpen
    void open() {}

    @OnMessage
    @ExecuteOn(TaskExecutors.IO)
    @RateLimiter(header = "X-Name", rules = @RateRule(count = 2, time = 60))
    void message(String text, WebSocketSession session) {
      session.sendSync("done " + text);
    }
  }

  /** Each message is a call of its own, and no part of the request that opened the socket. */
  @ServerWebSocket("/callers/one-at-a-time")
  @Requires(property = "spec.name", value = SPEC)
  static class OneAtATime {
    @OnOpen
    void open() {}

    @OnMessage
    @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Mono<String> message(String text, WebSocketSession session) {
      return Mono.from(session.send("done " + text));
    }
  }

  /** Two callers, each with a first message of its own. */
  @ServerWebSocket("/callers/submissions")
  @Requires(property = "spec.name", value = SPEC)
  static class Submissions {
    @OnOpen
    void open() {}

    @OnMessage
    @ExecuteOn(TaskExecutors.IO)
    @RateLimiter(
        header = "X-Name",
        preventDuplicate = true,
        duplicate = @Duplicate(key = "#{text}"),
        rules = @RateRule(count = 2, time = 60))
    Mono<String> message(String text, WebSocketSession session) {
      return Mono.from(session.send("done " + text));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"MANUAL", "IO", "BLOCKING", "AUTO"})
  void eachMessageCountsForTheCallerWhoOpenedTheSocket(String selection) throws Exception {
    try (TestServer server =
        TestServer.start(
            SPEC,
            Map.of("micronaut.server.thread-selection", selection, "test.slow-store", true))) {
      for (String socket :
          new String[] {
            "mono",
            "mono-elsewhere",
            "flux-elsewhere",
            "stage-elsewhere",
            "sync-elsewhere",
            "submissions"
          }) {
        server.clear();
        for (String name : new String[] {"a", "b"}) {
          BlockingQueue<String> answers = new LinkedBlockingQueue<>();
          WebSocket client = open(server, socket, name, answers);
          for (String message : new String[] {"1", "2"}) {
            client.sendText(message, true).join();
            assertThat(answers.poll(20, TimeUnit.SECONDS))
                .as("%s, caller %s", socket, name)
                .isEqualTo("done " + message);
          }
          client.sendText("3", true).join();
          assertThat(answers.poll(20, TimeUnit.SECONDS))
              .as("%s, caller %s", socket, name)
              .isEqualTo("closed 1013");
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void eachMessageFreesItsPlace(boolean gate) throws Exception {
    try (TestServer server =
        TestServer.start(SPEC, Map.of("limiter.gate.enabled", gate, "limiter.fallback", "deny"))) {
      BlockingQueue<String> answers = new LinkedBlockingQueue<>();
      WebSocket client = open(server, "one-at-a-time", "a", answers);
      for (int i = 0; i < 6; i++) {
        client.sendText("message " + i, true).join();
        assertThat(answers.poll(20, TimeUnit.SECONDS)).isEqualTo("done message " + i);
      }
      client.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
      assertThat(answers.poll(20, TimeUnit.SECONDS)).isEqualTo("closed 1000");
    }
  }

  private static WebSocket open(
      TestServer server, String socket, String name, BlockingQueue<String> answers) {
    return HttpClient.newHttpClient()
        .newWebSocketBuilder()
        .header("X-Name", name)
        .buildAsync(
            URI.create("ws://localhost:" + server.port() + "/callers/" + socket), into(answers))
        .join();
  }

  private static WebSocket.Listener into(BlockingQueue<String> answers) {
    return new WebSocket.Listener() {
      @Override
      public CompletionStage<?> onText(WebSocket from, CharSequence text, boolean last) {
        answers.add(text.toString());
        from.request(1);
        return null;
      }

      @Override
      public CompletionStage<?> onClose(WebSocket from, int status, String reason) {
        answers.add("closed " + status);
        return null;
      }
    };
  }
}
