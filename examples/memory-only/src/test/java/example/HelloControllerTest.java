package example;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

@LimitTest
class HelloControllerTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject Limits limits;
  @Inject TestClock clock;

  @Test
  void threeCallsAMinuteWithoutARedisClient() {
    assertThrows(ClassNotFoundException.class, () -> Class.forName("io.lettuce.core.RedisClient"));

    Callable<?> hello = () -> client.toBlocking().exchange("/hello");
    limits.assertAdmits(3, hello).thenDenies().withStatus(429);
    clock.advance(Duration.ofMinutes(1));
    limits.assertAdmits(1, hello);
  }
}
