package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpRequest;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.runtime.server.EmbeddedServer;
import io.micronaut.test.annotation.MockBean;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** Each limit of the service is reached once, on a clock that the test drives. */
@LimitTest
class ServiceTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject EmbeddedServer server;
  @Inject Limits limits;
  @Inject TestClock clock;

  /** Reports that take until the test ends them. */
  static final BlockingQueue<CompletableFuture<String>> RUNNING = new LinkedBlockingQueue<>();

  @MockBean(Reports.class)
  static class SlowReports extends Reports {

    @Override
    CompletionStage<String> render() {
      CompletableFuture<String> report = new CompletableFuture<>();
      RUNNING.add(report);
      return report;
    }
  }

  @Test
  void wrongPasswordsOfAnAddress() {
    limits
        .expecting(401)
        .assertAdmits(20, send(HttpRequest.GET("/me").basicAuth("ann", "guess")))
        .thenDenies()
        .byPolicy("guesses")
        .withRetryAfter(Duration.ofMinutes(1));
    limits.assertDenies(send(HttpRequest.GET("/orders").basicAuth("bob", "guess")));
    limits.assertDenies(send(HttpRequest.GET("/me").basicAuth("ann", "ann")));
    // Paths for all do not show whether a password is right.
    limits.assertAdmits(
        1, send(HttpRequest.GET("/public/search?text=tea").basicAuth("ann", "guess")));
    limits.assertAdmits(
        1,
        send(
            HttpRequest.GET("/me")
                .basicAuth("ann", "ann")
                .header("X-Forwarded-For", "203.0.113.9")));
    clock.advance(Duration.ofMinutes(1));
    limits.assertAdmits(30, send(HttpRequest.GET("/me").basicAuth("ann", "ann")));
  }

  @Test
  void probesCountNoGuess() {
    limits.assertAdmits(21, send(HttpRequest.GET("/health/liveness")));
    limits.assertAdmits(21, send(HttpRequest.GET("/health/readiness")));
    limits.assertAdmits(1, send(HttpRequest.GET("/me").basicAuth("ann", "ann")));
  }

  @Test
  void codesOfAPhone() {
    Callable<?> send = send(HttpRequest.POST("/public/codes?phone=0100", ""));
    limits
        .assertAdmits(1, send)
        .thenDenies()
        .byRule("1-per-60s")
        .withStatus(429)
        .withRetryAfter(Duration.ofMinutes(1));
    for (int code = 2; code <= 10; code++) {
      clock.advance(Duration.ofMinutes(1));
      limits.assertAdmits(1, send);
    }
    clock.advance(Duration.ofMinutes(1));
    limits.assertDenies(send).byRule("10-per-3600s").withRetryAfter(Duration.ofMinutes(50));
  }

  @Test
  void codesOfAnAddressAndOfAll() {
    for (int phone = 1; phone <= 500; phone++) {
      String address = "203.0.113." + (phone - 1) / 20;
      limits.assertAdmits(1, code(phone, address));
      if (phone % 20 == 0 && phone < 500) {
        limits.assertDenies(code(501, address)).byRule("20-per-3600s");
      }
    }
    limits.assertDenies(code(501, "198.51.100.1")).byRule("500-per-3600s");
  }

  private Callable<?> code(int phone, String address) {
    return send(
        HttpRequest.POST("/public/codes?phone=" + phone, "").header("X-Forwarded-For", address));
  }

  @Test
  void searches() {
    Callable<?> search = send(HttpRequest.GET("/public/search?text=tea"));
    Limits.DeniedCalls denied = limits.assertAdmits(20, search).thenDenies().byRule("burst");
    assertEquals("application/problem+json", denied.response().getContentType().get().getName());
    clock.advance(Duration.ofMillis(200));
    limits.assertAdmits(1, search).thenDenies();
  }

  @Test
  void ordersOfAUser() {
    limits.assertAdmits(1, order("ann", 1)).thenDenies().withStatus(409);
    for (int amount = 2; amount <= 10; amount++) {
      limits.assertAdmits(1, order("ann", amount));
    }
    limits.assertDenies(order("ann", 11)).withStatus(429).byRule("10-per-60s");
    limits.assertAdmits(1, order("bob", 11));
  }

  private Callable<?> order(String user, int amount) {
    return send(HttpRequest.POST("/orders", new Order("tea", amount)).basicAuth(user, user));
  }

  @Test
  void paymentsRunOnce() throws Exception {
    HttpResponse<String> first = pay(5, "one").call();
    HttpResponse<String> again = pay(5, "one").call();
    assertEquals(first.body(), again.body());
    assertEquals("true", again.header("Idempotency-Replayed"));
    assertNotEquals(first.body(), pay(5, "two").call().body());
    assertEquals(422, status(pay(6, "one")));
    assertEquals(400, status(send(payment(5))));
    limits.assertAdmits(40, pay(5, "one")); // repetitions take nothing
    for (int key = 3; key <= 30; key++) {
      limits.assertAdmits(1, pay(5, "key " + key));
    }
    limits.assertDenies(pay(5, "key 31")).byRule("30-per-60s");
  }

  private Callable<HttpResponse<String>> pay(int amount, String key) {
    return send(payment(amount).header("Idempotency-Key", key));
  }

  private static MutableHttpRequest<?> payment(int amount) {
    return HttpRequest.POST("/payments", Map.of("amount", amount)).basicAuth("ann", "ann");
  }

  @Test
  void reportsAtOnce() throws Exception {
    MutableHttpRequest<?> request = HttpRequest.GET("/reports").basicAuth("ann", "ann");
    List<CompletableFuture<String>> responses =
        List.of(
            Mono.from(client.retrieve(request)).toFuture(),
            Mono.from(client.retrieve(request)).toFuture());
    CompletableFuture<String> one = RUNNING.poll(20, TimeUnit.SECONDS);
    CompletableFuture<String> two = RUNNING.poll(20, TimeUnit.SECONDS);
    limits.assertDenies(send(request)).byRule("2-in-flight");
    one.complete("one");
    two.complete("two");
    for (CompletableFuture<String> response : responses) {
      response.get(20, TimeUnit.SECONDS);
    }
    CompletableFuture<String> third = Mono.from(client.retrieve(request)).toFuture();
    RUNNING.poll(20, TimeUnit.SECONDS).complete("three");
    assertEquals("three", third.get(20, TimeUnit.SECONDS));
  }

  @Test
  void callsOfACustomer() {
    limits.assertAdmits(60, stock("key-of-ann")).thenDenies().byPolicy("api");
    limits.assertAdmits(300, stock("key-of-ben"));
    limits.assertAdmits(300, stock("other-key-of-ben")).thenDenies();
    assertEquals(400, status(send(HttpRequest.GET("/api/stock"))));
    assertEquals(400, status(stock("invented")));
  }

  private Callable<HttpResponse<String>> stock(String key) {
    return send(HttpRequest.GET("/api/stock").header("X-Api-Key", key));
  }

  private String left(String key) throws Exception {
    return send(HttpRequest.GET("/api/documents/left").header("X-Api-Key", key)).call().body();
  }

  @Test
  void pagesOfAMonth() throws Exception {
    limits.assertAdmits(1, translate(600)).thenDenies().byPolicy("documents");
    assertEquals("400", left("key-of-ann"));
    assertEquals("100000", left("key-of-ben"));
    limits.assertAdmits(1, translate(400));
    clock.set(Instant.parse("2024-01-31T22:59:59Z"));
    limits.assertDenies(translate(1)).withRetryAfter(Duration.ofSeconds(1));
    clock.set(Instant.parse("2024-01-31T23:00:00Z"));
    limits.assertAdmits(1, translate(1_000));
  }

  private Callable<?> translate(int pages) {
    return send(
        HttpRequest.POST("/api/documents?pages=" + pages, "").header("X-Api-Key", "key-of-ann"));
  }

  @Test
  void tokensOfAStream() throws Exception {
    assertFalse(complete().call().body().contains("[out of tokens]"));
    assertTrue(complete().call().body().endsWith("data: [out of tokens]\n\n"));
    limits.assertDenies(complete()).byPolicy("tokens");
  }

  /** Two tokens a word. */
  private Callable<HttpResponse<String>> complete() {
    return send(
        HttpRequest.POST("/api/completions?words=1500", "")
            .accept(MediaType.TEXT_EVENT_STREAM)
            .header("X-Api-Key", "key-of-ann"));
  }

  @Test
  void eventsOfAPartner() throws Exception {
    for (int event = 1; event <= 50; event++) {
      limits.assertAdmits(1, deliver("acme", event));
    }
    limits.assertAdmits(1, deliver("acme", 50)); // a repetition
    limits.assertDenies(deliver("acme", 51));
    limits.assertAdmits(1, deliver("globex", 51));
  }

  private Callable<?> deliver(String partner, int event) {
    return send(
        HttpRequest.POST("/public/hooks/" + partner, "{}").header("Idempotency-Key", "e" + event));
  }

  @Test
  void messagesAndConnections() throws Exception {
    Seen seen = new Seen();
    WebSocket socket = open(seen);
    for (int i = 1; i <= 20; i++) {
      socket.sendText("message " + i, true).join();
      assertEquals("tea: message " + i, seen.next());
    }
    socket.sendText("one too many", true).join();
    assertEquals("closed with 1013", seen.next());
    for (int i = 2; i <= 10; i++) {
      open(new Seen());
    }
    Seen eleventh = new Seen();
    open(eleventh);
    assertEquals("closed with 1013", eleventh.next());
  }

  private WebSocket open(Seen seen) {
    return java.net.http.HttpClient.newHttpClient()
        .newWebSocketBuilder()
        .buildAsync(URI.create("ws://localhost:" + server.getPort() + "/public/chat/tea"), seen)
        .join();
  }

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

  @Test
  void theDocumentHasTheDenials() throws IOException {
    try (InputStream file = getClass().getResourceAsStream("/META-INF/swagger/shop-1.yml")) {
      String document = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      String codes = document.substring(document.indexOf("  /public/codes:"));
      codes = codes.substring(0, codes.indexOf("\n  /public/", 1));
      assertTrue(codes.contains("\"429\":"), codes);
      assertTrue(codes.contains("x-rate-limits"), codes);
    }
  }

  @Test
  void metersCountTheDenials() throws Exception {
    limits.assertAdmits(1, code(1, "203.0.113.1")).thenDenies();
    String meters = send(HttpRequest.GET("/prometheus").basicAuth("olga", "olga")).call().body();
    assertTrue(
        meters
            .lines()
            .filter(line -> line.startsWith("limiter_decisions_total{"))
            .filter(line -> line.contains("outcome=\"limited\""))
            .anyMatch(line -> line.contains("policy=\"codes\"")),
        meters);
    assertEquals(403, status(send(HttpRequest.GET("/prometheus").basicAuth("ann", "ann"))));
  }

  private Callable<HttpResponse<String>> send(HttpRequest<?> request) {
    return () -> client.toBlocking().exchange(request, String.class);
  }

  private static int status(Callable<HttpResponse<String>> call) {
    try {
      return call.call().code();
    } catch (HttpClientResponseException e) {
      return e.code();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
