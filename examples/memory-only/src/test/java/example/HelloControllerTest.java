package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import org.junit.jupiter.api.Test;

@MicronautTest
class HelloControllerTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Test
  void threeCallsPassWithoutARedisClient() {
    assertThrows(ClassNotFoundException.class, () -> Class.forName("io.lettuce.core.RedisClient"));
    for (int i = 0; i < 3; i++) {
      assertEquals("Hello", client.toBlocking().retrieve("/hello"));
    }
    HttpClientResponseException denied =
        assertThrows(
            HttpClientResponseException.class, () -> client.toBlocking().retrieve("/hello"));
    assertEquals(429, denied.code());
  }
}
