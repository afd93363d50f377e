package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micronaut.http.HttpRequest;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;

@MicronautTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class AccountControllerTest extends RedisForTests {

  @Inject
  @Client("/")
  HttpClient client;

  @Test
  void eachUserIsCounted() {
    assertEquals(List.of(200, 200, 200, 429), statuses(4, "/me", "ann", "ann"));
    assertEquals(List.of(200), statuses(1, "/me", "bob", "bob"));
    assertEquals(List.of(401), statuses(1, "/me", "ann", "guess"));
  }

  @Test
  void guessesAreCountedAndRightPasswordsAreNot() {
    assertEquals(List.of(200, 200, 200, 200), statuses(4, "/account", "ann", "ann"));
    assertEquals(List.of(401, 401, 401, 429), statuses(4, "/account", "ann", "guess"));
  }

  /** The response to an unknown path shows whether a password is right. */
  @Test
  void guessesAreCountedOnEveryPath() {
    List<Integer> guesses = statuses(21, "/nothing", "dan", "guess");
    assertEquals(429, guesses.get(20), guesses.toString());
    assertEquals(List.of(429), statuses(1, "/nothing", "dan", "dan"));
    assertEquals(List.of(200), statuses(1, "/me", "dan", "dan"));
  }

  /** The first one: another uses up what this address may guess, on this path too. */
  @Test
  @Order(1)
  void aTransferIsMadeOnceForEachKeyOfAUser() {
    String first = transfer("ann", 5, "one");
    assertEquals(first, transfer("ann", 5, "one"));
    assertNotEquals(first, transfer("ann", 5, "two"));
    assertNotEquals(first, transfer("bob", 5, "one"));
    assertEquals(422, status(transferring("ann", 6, "one")));
    assertEquals(400, status(HttpRequest.POST("/transfers?amount=5", "").basicAuth("ann", "ann")));
  }

  private String transfer(String name, int amount, String key) {
    return client.toBlocking().retrieve(transferring(name, amount, key));
  }

  private static HttpRequest<?> transferring(String name, int amount, String key) {
    return HttpRequest.POST("/transfers?amount=" + amount, "")
        .basicAuth(name, name)
        .header("Idempotency-Key", key);
  }

  @Test
  void prometheusHasTheDecisions() {
    statuses(5, "/me", "eve", "eve");
    String meters = client.toBlocking().retrieve("/prometheus");
    assertTrue(
        meters.lines().anyMatch(line -> line.startsWith("limiter_") && line.contains("\"me\"")),
        meters);
  }

  @Test
  void operatorsAloneUseTheEndpoint() {
    assertEquals(List.of(200), statuses(1, "/limits", "olga", "olga"));
    assertEquals(List.of(200), statuses(1, "/limits/guesses-anywhere", "olga", "olga"));
    assertEquals(List.of(403), statuses(1, "/limits", "ann", "ann"));
    assertEquals(401, status(HttpRequest.GET("/limits")));
  }

  private List<Integer> statuses(int calls, String path, String name, String password) {
    return IntStream.range(0, calls)
        .map(i -> status(HttpRequest.GET(path).basicAuth(name, password)))
        .boxed()
        .toList();
  }

  private int status(HttpRequest<?> request) {
    try {
      return client.toBlocking().exchange(request).code();
    } catch (HttpClientResponseException e) {
      return e.code();
    }
  }
}
