package example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micronaut.runtime.server.EmbeddedServer;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

@MicronautTest
class ChatSocketTest {

  @Inject EmbeddedServer server;

  /** What a client sees: texts, and the status with which it is disconnected. */
  private static final class Seen implements WebSocket.Listener {

    final BlockingQueue<String> events = new LinkedBlockingQueue<>();

    @Override
    public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
      events.add(data.toString());
      socket.request(1);
      return null;
    }

    @Override
    public CompletionStage<?> onClose(WebSocket socket, int status, String reason) {
      events.add("closed with " + status);
      return null;
    }

    String next() throws InterruptedException {
      return events.poll(20, TimeUnit.SECONDS);
    }
  }

  /** In one test, since both count the same address. */
  @Test
  void messagesAndConnectionsAreLimited() throws Exception {
    Seen seen = new Seen();
    WebSocket socket = open(seen);
    for (int i = 0; i < 5; i++) {
      socket.sendText("message " + i, true).join();
      assertEquals("tea: message " + i, seen.next());
    }
    socket.sendText("one too many", true).join();
    assertEquals("closed with 1013", seen.next());

    open(new Seen());
    open(new Seen());
    Seen fourth = new Seen();
    open(fourth);
    assertEquals("closed with 1013", fourth.next());
  }

  private WebSocket open(Seen seen) {
    return HttpClient.newHttpClient()
        .newWebSocketBuilder()
        .buildAsync(URI.create("ws://localhost:" + server.getPort() + "/chat/tea"), seen)
        .join();
  }
}
