package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import example.OrderController.NewOrder;
import io.micronaut.core.version.VersionUtils;
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
    assertTrue(VersionUtils.isAtLeastMicronautVersion("5.0.0"));
    for (int i = 0; i < 10; i++) {
      HttpResponse<String> admitted = blocking().exchange("/items", String.class);
      assertTrue(admitted.header("RateLimit").startsWith("\"10-per-60s\";r=" + (9 - i) + ";t="));
    }
    HttpResponse<?> denied = denied(HttpRequest.GET("/items"));
    assertEquals(429, denied.code());
    assertTrue(denied.getBody(String.class).orElse("").contains("rate_limited"));
  }

  @Test
  void theSameOrderTwiceIsADuplicate() {
    HttpRequest<NewOrder> tea = HttpRequest.POST("/orders", new NewOrder("tea", 2));
    assertEquals(201, blocking().exchange(tea).code());
    assertEquals(409, denied(HttpRequest.POST("/orders", new NewOrder("tea", 2))).code());
    assertEquals(201, blocking().exchange(HttpRequest.POST("/orders", new NewOrder("tea", 3))).code());
  }

  private HttpResponse<?> denied(HttpRequest<?> request) {
    return assertThrows(
            HttpClientResponseException.class, () -> blocking().exchange(request, String.class))
        .getResponse();
  }
}
