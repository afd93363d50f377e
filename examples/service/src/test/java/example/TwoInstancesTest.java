package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Two instances of the service, and one Redis. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TwoInstancesTest extends RedisForTests {

  private final HttpClient client = HttpClient.newHttpClient();
  private EmbeddedServer one;
  private EmbeddedServer other;

  @BeforeAll
  void start() {
    Map<String, Object> settings = new HashMap<>(getProperties());
    settings.put("limiter.redis.key-secret", "of-the-tests-alone");
    settings.put("SEARCH_BURST", 30);
    settings.put("limiter.redis.deadline", "10s"); // a busy machine is not a lost Redis
    one = ApplicationContext.run(EmbeddedServer.class, settings);
    other = ApplicationContext.run(EmbeddedServer.class, settings);
  }

  @AfterAll
  void stop() {
    one.close();
    other.close();
  }

  /** One user, at many addresses. */
  @Test
  void togetherTheyAdmitTheCount() {
    List<CompletableFuture<HttpResponse<String>>> calls =
        IntStream.range(0, 40)
            .mapToObj(i -> order(i % 2 == 0 ? one : other, i))
            .map(request -> client.sendAsync(request, HttpResponse.BodyHandlers.ofString()))
            .toList();
    List<Integer> statuses = calls.stream().map(call -> call.join().statusCode()).toList();
    assertEquals(10, statuses.stream().filter(status -> status == 200).count(), "" + statuses);
    assertEquals(30, statuses.stream().filter(status -> status == 429).count(), "" + statuses);
  }

  private static HttpRequest order(EmbeddedServer server, int amount) {
    return request(server, "/orders", "ann")
        .header("X-Forwarded-For", "203.0.113." + amount)
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString("{\"item\":\"tea\",\"amount\":" + amount + "}"))
        .build();
  }

  @Test
  void anIncident() throws Exception {
    for (int i = 0; i < 200; i++) {
      search(i % 2 == 0 ? one : other);
    }
    String talkers = operator("search", null);
    assertTrue(talkers.contains("203.0.113.9"), talkers);

    operator("search/override", "{'address': '203.0.113.9', 'counts': {'burst': 2}, 'time': '1h'}");
    await("q=2]", one);
    await("q=2]", other);

    operator("block", "{'address': '203.0.113.9', 'time': '2h', 'reason': 'flood'}");
    await("403", one);
    await("403", other);

    operator("end-block", "{'address': '203.0.113.9'}");
    operator("search/end-override", "{'address': '203.0.113.9'}");
    await("q=30;", one);
    await("q=30;", other);
  }

  /** Other instances read what an operator has changed after two seconds. */
  private void await(String expected, EmbeddedServer server) throws Exception {
    Instant end = Instant.now().plus(Duration.ofSeconds(30));
    String seen;
    do {
      seen = search(server);
      if (seen.contains(expected)) {
        return;
      }
    } while (Instant.now().isBefore(end));
    assertEquals(expected, seen);
  }

  /** The status, and the limits. */
  private String search(EmbeddedServer server) throws Exception {
    HttpResponse<String> response =
        client.send(
            request(server, "/public/search?text=tea", null)
                .header("X-Forwarded-For", "203.0.113.9")
                .build(),
            HttpResponse.BodyHandlers.ofString());
    return response.statusCode() + " " + response.headers().map().get("ratelimit-policy");
  }

  private String operator(String path, String body) throws Exception {
    HttpRequest.Builder request =
        request(one, "/limits/" + path, "olga").header("Content-Type", "application/json");
    if (body != null) {
      request.POST(HttpRequest.BodyPublishers.ofString(body.replace('\'', '"')));
    }
    HttpResponse<String> response =
        client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    assertEquals(200, response.statusCode(), response.body());
    return response.body();
  }

  private static HttpRequest.Builder request(EmbeddedServer server, String path, String user) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(server.getURL() + path));
    if (user != null) {
      String credentials = user + ":" + user;
      request.header(
          "Authorization",
          "Basic "
              + Base64.getEncoder()
                  .encodeToString(credentials.getBytes(StandardCharsets.US_ASCII)));
    }
    return request;
  }
}
