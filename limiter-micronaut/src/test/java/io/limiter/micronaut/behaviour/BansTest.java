// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.testing.StatedCallers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A caller that is denied too often is banned: for how long, without others, until it is lifted.
 */
class BansTest extends WithAndWithoutGate {

  private static final String HOUR = "3600|35[89]\\d";

  BansTest() {
    super(BanRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @ParameterizedTest
  @ValueSource(strings = {"address", "user", "argument?who=", "strangers"})
  void oneDenialTooManyStartsABan(String route) {
    assertThat(call(route).statusCode()).isEqualTo(200);
    HttpResponse<String> denied = call(route);
    HttpResponse<String> banned = call(route);
    HttpResponse<String> still = call(route);

    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(denied.body()).contains("\"logref\":\"rate_limited\"");
    assertThat(field(denied, "Retry-After")).matches("60|5\\d");
    for (HttpResponse<String> answer : List.of(banned, still)) {
      assertThat(answer.statusCode()).isEqualTo(429);
      assertThat(answer.body())
          .contains("\"logref\":\"banned\"", "Too many denied requests: access is blocked");
      assertThat(field(answer, "Retry-After")).as("not the wait of the rule").matches(HOUR);
      assertThat(field(answer, "RateLimit-Policy"))
          .isEqualTo("\"abnormal-usage-detected\";q=0, \"1-per-60s\";q=1;w=60");
      assertThat(field(answer, "RateLimit"))
          .matches(
              "\"abnormal-usage-detected\";r=0;t=(%s), \"1-per-60s\";r=0;t=(60|5\\d)"
                  .formatted(HOUR));
      assertThat(field(answer, "Cache-Control")).isEqualTo("no-store");
    }
  }

  @Test
  void othersAreNotBanned() {
    ban("address");

    caller = "other than " + caller;
    assertThat(call("address").statusCode()).isEqualTo(200);
  }

  @Test
  void aLimitOfAllCallsTogetherBansNone() {
    for (int i = 0; i < 2; i++) {
      assertThat(call("everybody").statusCode()).isEqualTo(200);
    }
    for (int i = 0; i < 4; i++) {
      HttpResponse<String> denied = call("everybody");
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.body()).contains("\"logref\":\"rate_limited\"");
    }
  }

  @Test
  void aResetOfALimitAndItsCallerLiftsTheBan() {
    ban("user");
    Policy anyRules = Policy.of("by-user", SlidingWindowLogRule.of(1, Duration.ofMinutes(1)));

    server
        .context()
        .getBean(Limiter.class)
        .reset(LimitRequest.of(anyRules, new Subject("user", caller)))
        .toCompletableFuture()
        .join();

    assertThat(call("user").statusCode()).isEqualTo(200);
    assertThat(call("user").body()).contains("\"logref\":\"rate_limited\"");
  }

  private void ban(String route) {
    for (int i = 0; i < 3; i++) {
      call(route);
    }
    assertThat(call(route).body()).contains("\"logref\":\"banned\"");
  }

  private HttpResponse<String> call(String route) {
    return server.get(
        "/bans/" + (route.endsWith("=") ? route + caller.replace(' ', '-') : route),
        StatedCallers.ADDRESS,
        caller,
        StatedCallers.USER,
        caller);
  }
}
