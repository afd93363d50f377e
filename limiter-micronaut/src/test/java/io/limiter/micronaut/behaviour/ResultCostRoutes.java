// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;

/** Routes whose calls cost what they return, of a hundred an hour; ten are estimated. */
@Controller("/result-costs")
@Requires(property = "spec.name", value = ResultCostRoutes.SPEC)
class ResultCostRoutes {

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
    public int of(Object result) {
      int rows = ((List<?>) result).size();
      if (rows == 66) {
        throw new IllegalStateException("66 rows");
      }
      return rows == 77 ? -1 : rows;
    }
  }
}
