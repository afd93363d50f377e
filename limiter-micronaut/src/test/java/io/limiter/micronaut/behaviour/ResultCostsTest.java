// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.testing.StatedCallers;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** A call takes its estimated cost, and its actual cost is computed from its result. */
class ResultCostsTest extends WithAndWithoutGate {

  ResultCostsTest() {
    super(
        ResultCostRoutes.SPEC,
        Map.of("test.stated-callers", true, "micronaut.metrics.enabled", true));
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

  /** The bean fails for 66 rows. */
  @Test
  void anEstimateStaysWhereTheCostIsUnknown() {
    assertThat(left(rows("rows", 66))).isEqualTo(90);
    assertThat(left(rows("rows", 1))).isEqualTo(80);
  }

  /** Its cost of 77 rows is negative, and that of 88 is more than any call may cost. */
  @Test
  void aCostOutOfRangeIsTheNearestThatIsValid() {
    double before = clamped();
    assertThat(left(rows("rows", 77))).isEqualTo(90);
    assertThat(left(rows("rows", 88))).as("77 rows cost nothing").isEqualTo(90);
    assertThat(clamped() - before).isEqualTo(2);

    assertThat(rows("rows", 1).statusCode()).as("after the largest call").isEqualTo(429);
  }

  private double clamped() {
    return server
        .bean(MeterRegistry.class)
        .get("limiter.result.cost.clamped")
        .functionCounter()
        .count();
  }

  private HttpResponse<String> rows(String route, int n) {
    return server.get("/result-costs/" + route + "?n=" + n, StatedCallers.ADDRESS, caller);
  }

  private static int left(HttpResponse<String> admitted) {
    assertThat(admitted.statusCode()).as(admitted.body()).isEqualTo(200);
    return Integer.parseInt(field(admitted, "RateLimit").replaceFirst(".*;r=(\\d+);.*", "$1"));
  }

  /** Routes whose calls cost what they return, of a hundred an hour; ten are estimated. */
  @Controller("/result-costs")
  @Requires(property = "spec.name", value = ResultCostRoutes.SPEC)
  static class ResultCostRoutes {

    /** A hundred rows an hour. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        key = "rows",
        cost = "10",
        resultCost = Rows.class,
        rules = @RateRule(count = 100, time = HOUR))
    @interface ByRows {}

    static final String SPEC = "ResultCosts";

    private static final int HOUR = 3_600;

    @Get("/rows")
    @ByRows
    List<Integer> rows(@QueryValue int n) {
      return list(n);
    }

    @Get("/rows-later")
    @ByRows
    CompletionStage<List<Integer>> rowsLater(@QueryValue int n) {
      return CompletableFuture.supplyAsync(() -> list(n));
    }

    @Get("/rows-mono")
    @ByRows
    Mono<List<Integer>> rowsMono(@QueryValue int n) {
      return Mono.fromCallable(() -> list(n));
    }

    private static List<Integer> list(int n) {
      return IntStream.range(0, n).boxed().toList();
    }

    @Singleton
    @Requires(property = "spec.name", value = SPEC)
    static class Rows implements ResultCost {
      @Override
      public long of(Object result) {
        int rows = ((List<?>) result).size();
        if (rows == 66) {
          throw new IllegalStateException("66 rows");
        }
        return rows == 77 ? -1 : rows == 88 ? 3_000_000_000L : rows;
      }
    }
  }
}
