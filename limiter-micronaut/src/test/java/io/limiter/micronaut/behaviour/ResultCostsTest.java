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

/** A call takes its estimated cost, and its actual cost is computed from its result. */
class ResultCostsTest extends WithAndWithoutGate {

  ResultCostsTest() {
    super(ResultCostRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @ParameterizedTest
  @ValueSource(strings = {"rows", "rows-later", "rows-mono"})
  void anOverestimatedCostIsGivenBack(String route) {
    assertThat(left(rows(route, 3))).as("with the estimate").isEqualTo(90);
    assertThat(left(rows(route, 0))).isEqualTo(87);
    assertThat(left(rows(route, 10))).isEqualTo(87);
    assertThat(left(rows(route, 10))).isEqualTo(77);
  }

  @ParameterizedTest
  @ValueSource(strings = {"rows", "rows-later", "rows-mono"})
  void anUnderestimatedCostIsTakenLaterWhateverIsLeft(String route) {
    assertThat(left(rows(route, 85))).isEqualTo(90);
    assertThat(left(rows(route, 50))).isEqualTo(5);

    HttpResponse<String> denied = rows(route, 1);
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(field(denied, "RateLimit")).startsWith("\"100-per-3600s\";r=0;");
  }

  /** The cost of 66 and of 77 rows is unknown. */
  @Test
  void anEstimateStaysWhereTheCostIsUnknown() {
    assertThat(left(rows("rows", 66))).isEqualTo(90);
    assertThat(left(rows("rows", 77))).isEqualTo(80);
    assertThat(left(rows("rows", 1))).isEqualTo(70);
  }

  private HttpResponse<String> rows(String route, int n) {
    return server.get("/result-costs/" + route + "?n=" + n, StatedCallers.ADDRESS, caller);
  }

  private static int left(HttpResponse<String> admitted) {
    assertThat(admitted.statusCode()).as(admitted.body()).isEqualTo(200);
    return Integer.parseInt(field(admitted, "RateLimit").replaceFirst(".*;r=(\\d+);.*", "$1"));
  }
}
