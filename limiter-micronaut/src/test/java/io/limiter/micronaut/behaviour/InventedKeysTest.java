// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A caller who sends another key with each call, or headers that elsewhere open doors. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class InventedKeysTest {

  private static final String SPEC = "InventedKeysTest";

  private TestServer server;

  @BeforeAll
  void start() {
    server = TestServer.start(SPEC, Map.of("limiter.redis.key-secret", "of the invented keys"));
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @BeforeEach
  void forget() {
    server.clear();
  }

  @Test
  void aRuleForTheAddressHoldsWhateverKeysACallerInvents() {
    int admitted = 0;
    for (int call = 0; call < 12; call++) {
      admitted += get("/invented/paired", "X-Api-Key", "key " + call) == 200 ? 1 : 0;
    }
    assertThat(admitted).isEqualTo(4);
  }

  /** One for the address, and one for each invented key that was admitted. */
  @Test
  void keysThatAreInventedForDeniedCallsAreNotStored() {
    for (int call = 0; call < 12; call++) {
      get("/invented/paired", "X-Api-Key", "key " + call);
    }
    assertThat(server.keys().all())
        .hasSize(5)
        .allSatisfy((key, stored) -> assertThat(stored.expiry()).isPositive());
  }

  @ParameterizedTest
  @CsvSource({
    "User-Agent, Googlebot/2.1",
    "User-Agent, kube-probe/1.30",
    "Referer, https://admin.internal/",
    "X-Forwarded-For, 127.0.0.1",
    "X-Real-IP, 127.0.0.1",
    "X-Internal, true",
    "X-RateLimit-Bypass, 1",
    "X-HTTP-Method-Override, OPTIONS",
    "Authorization, Bearer admin",
    "Cookie, admin=1",
    "Cache-Control, no-cache",
  })
  void noHeaderOfAClientBypassesTheLimit(String name, String value) {
    for (int call = 0; call < 2; call++) {
      assertThat(get("/invented/plain", name, value)).isEqualTo(200);
    }
    assertThat(get("/invented/plain", name, value)).isEqualTo(429);
    assertThat(get("/invented/plain", "X-Nothing", "1")).isEqualTo(429);
  }

  private int get(String path, String header, String value) {
    return server.get(path, header, value).statusCode();
  }

  @Controller("/invented")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/paired")
    @RateLimiter(header = "X-Api-Key", rules = @RateRule(count = 2, time = 60))
    @RateLimiter(limitType = LimitType.IP, rules = @RateRule(count = 4, time = 60))
    String paired() {
      return "ok";
    }

    @Get("/plain")
    @RateRule(count = 2, time = 60)
    String plain() {
      return "ok";
    }
  }
}
