package example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.runtime.server.EmbeddedServer;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

@MicronautTest
class FeedControllerTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @Inject EmbeddedServer server;

  @Inject
  @Client("/")
  HttpClient client;

  @Test
  void threeQuotesPass() {
    for (int i = 0; i < 3; i++) {
      assertEquals("42", Mono.from(client.retrieve("/quote")).block(PATIENCE));
    }
    try {
      Mono.from(client.retrieve("/quote")).block(PATIENCE);
    } catch (HttpClientResponseException denied) {
      assertEquals(429, denied.code());
    }
  }

  @Test
  void aStreamHoldsItsPermitUntilTheClientLeaves() throws Exception {
    try (InputStream first = open().body();
        InputStream second = open().body()) {
      assertEquals('d', first.read()); // data: 0
      assertEquals('d', second.read());
      assertEquals(429, status());
    }
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (status() == 429 && System.nanoTime() < end) { // until the server has seen that
      Thread.onSpinWait();
    }
    assertEquals(200, status());
  }

  private int status() throws IOException, InterruptedException {
    HttpResponse<InputStream> response = open();
    response.body().close();
    return response.statusCode();
  }

  private HttpResponse<InputStream> open() throws IOException, InterruptedException {
    return java.net.http.HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(server.getURI().resolve("/feed")).timeout(PATIENCE).build(),
            BodyHandlers.ofInputStream());
  }
}
