package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import example.OrderController.NewOrder;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.client.BlockingHttpClient;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

@MicronautTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OrderControllerTest extends RedisForTests {

  @Inject
  @Client("/")
  HttpClient client;

  private BlockingHttpClient blocking() {
    return client.toBlocking();
  }

  @Test
  void tenItemsPass() {
    for (int i = 0; i < 10; i++) {
      HttpResponse<String> admitted = blocking().exchange("/items", String.class);
      assertEquals("\"10-per-60s\";r=" + (9 - i) + ";t=60", rateLimit(admitted, "60"));
    }
    HttpResponse<?> denied = denied(HttpRequest.GET("/items"));
    assertEquals(429, denied.code());
    assertTrue(Integer.parseInt(denied.header("Retry-After")) <= 60);
    assertTrue(denied.getBody(String.class).orElse("").contains("rate_limited"));
  }

  /** The remaining seconds depend on how long the test takes. */
  private static String rateLimit(HttpResponse<?> response, String seconds) {
    return response.header("RateLimit").replaceAll("t=\\d+", "t=" + seconds);
  }

  @Test
  void theSameOrderTwiceIsADuplicate() {
    HttpRequest<NewOrder> tea = HttpRequest.POST("/orders", new NewOrder("tea", 2));
    assertEquals(201, blocking().exchange(tea).code());
    assertEquals(409, denied(HttpRequest.POST("/orders", new NewOrder("tea", 2))).code());
    assertEquals(201, blocking().exchange(HttpRequest.POST("/orders", new NewOrder("tea", 3))).code());
  }

  @Test
  void eachPhoneIsCounted() {
    assertEquals("sent", blocking().retrieve(HttpRequest.POST("/codes?phone=1", "")));
    HttpResponse<?> denied = denied(HttpRequest.POST("/codes?phone=1", ""));
    assertTrue(denied.getBody(String.class).orElse("").contains("A code was sent a moment ago"));
    assertEquals("sent", blocking().retrieve(HttpRequest.POST("/codes?phone=2", "")));
  }

  private HttpResponse<?> denied(HttpRequest<?> request) {
    return assertThrows(
            HttpClientResponseException.class, () -> blocking().exchange(request, String.class))
        .getResponse();
  }
}
