package example;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.websocket.WebSocketBroadcaster;
import io.micronaut.websocket.annotation.OnMessage;
import io.micronaut.websocket.annotation.OnOpen;
import io.micronaut.websocket.annotation.ServerWebSocket;
import java.util.concurrent.CompletableFuture;

@ServerWebSocket("/public/chat/{room}")
class ChatSocket {

  private final WebSocketBroadcaster broadcaster;

  ChatSocket(WebSocketBroadcaster broadcaster) {
    this.broadcaster = broadcaster;
  }

  @OnOpen
  @RateRule(count = 10, time = 60)
  CompletableFuture<String> open(String room) {
    return CompletableFuture.completedFuture(room);
  }

  @OnMessage
  @RateRule(count = 20, time = 10)
  CompletableFuture<String> message(String room, String message) {
    return broadcaster.broadcastAsync(room + ": " + message);
  }
}
