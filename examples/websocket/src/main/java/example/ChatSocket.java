package example;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.websocket.WebSocketBroadcaster;
import io.micronaut.websocket.annotation.OnMessage;
import io.micronaut.websocket.annotation.OnOpen;
import io.micronaut.websocket.annotation.ServerWebSocket;
import java.util.concurrent.CompletableFuture;

@ServerWebSocket("/chat/{room}")
class ChatSocket {

  private final WebSocketBroadcaster broadcaster;

  ChatSocket(WebSocketBroadcaster broadcaster) {
    this.broadcaster = broadcaster;
  }

  /** A caller that connects too often is disconnected. */
  @OnOpen
  @RateRule(count = 3, time = 60)
  CompletableFuture<String> open(String room) {
    return CompletableFuture.completedFuture(room);
  }

  /** A caller that sends too often is disconnected. */
  @OnMessage
  @RateRule(count = 5, time = 60)
  CompletableFuture<String> message(String room, String message) {
    return broadcaster.broadcastAsync(room + ": " + message);
  }
}
