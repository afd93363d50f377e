// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.StatedCallers;
import java.net.http.HttpResponse;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A method with a parameter for the verdict is always called, and receives the verdict. */
class VerdictParameterTest extends WithAndWithoutGate {

  VerdictParameterTest() {
    super(VerdictRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "flux", "argument?who=", "argument-sync?who="})
  void aDenialIsHandedToTheMethod(String route) {
    HttpResponse<String> admitted = call(route);
    HttpResponse<String> denied = call(route);

    assertThat(admitted.body()).contains("ALLOWED [0]");
    assertThat(denied.statusCode()).isEqualTo(200);
    assertThat(denied.body()).contains("LIMITED [0]");
    assertThat(field(denied, "RateLimit")).startsWith("\"1-per-60s\";r=0;t=");
    assertThat(denied.headers().firstValue("Retry-After")).isEmpty();
  }

  @Test
  void aVerdictParameterIsNoPartOfTheSubmission() {
    assertThat(server.post("/verdicts/submission", "{\"a\":1}").body()).isEqualTo("ALLOWED []");
    assertThat(server.post("/verdicts/submission", "{\"a\":1}").body()).isEqualTo("DUPLICATE []");
    assertThat(server.post("/verdicts/submission", "{\"a\":2}").body()).isEqualTo("ALLOWED []");
  }

  @Test
  void whereNothingLimitsItIsAllowed() {
    assertThat(server.get("/verdicts/unlimited").body()).isEqualTo("ALLOWED []");
  }

  @Test
  void aMethodOfABeanReceivesTheVerdictWhateverWasPassed() {
    assertThat(server.get("/verdicts/bean").body()).isEqualTo("ALLOWED [0]");
    assertThat(server.get("/verdicts/bean").body()).isEqualTo("LIMITED [0]");
  }

  private HttpResponse<String> call(String route) {
    return server.get(
        "/verdicts/" + (route.endsWith("=") ? route + caller : route),
        StatedCallers.ADDRESS,
        caller);
  }
}
