package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.limiter.micronaut.exception.RateLimitExceededException;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

@MicronautTest
class ClientsTest {

  @Inject Clients.Careless careless;
  @Inject Clients.Obedient obedient;
  @Inject Clients.Contracted contracted;

  /** The server alone limits it: at least three calls pass. */
  @Test
  void theServerDeniesACarelessClient() {
    assertEquals(429, assertThrows(
            HttpClientResponseException.class, () -> repeat(9, careless::quote)).code());
  }

  @Test
  void anObedientClientWaits() {
    obedientOnceAdmitted();
    repeat(8, obedient::quote);
  }

  /** Another test may have used up the server's limit, which this client does not know yet. */
  private void obedientOnceAdmitted() {
    try {
      obedient.quote();
    } catch (HttpClientResponseException denied) {
      assertEquals(429, denied.code());
    }
  }

  @Test
  void aClientMayBeLimitedItself() {
    obedientOnceAdmitted();
    contracted.quote();
    contracted.quote();
    assertThrows(RateLimitExceededException.class, contracted::quote);
  }

  private static void repeat(int calls, Supplier<String> call) {
    for (int i = 0; i < calls; i++) {
      assertEquals("42", call.get());
    }
  }
}
