// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The costs of calls, and the handling of calls without a valid cost, or with too large a cost. */
class CostsTest extends WithAndWithoutGate {

  CostsTest() {
    super(CostRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @Test
  void aCallTakesWhatItCosts() {
    assertThat(left(get("five"))).isEqualTo(5);
    assertThat(left(get("five"))).isZero();
    assertThat(get("five").statusCode()).isEqualTo(429);
  }

  @ParameterizedTest
  @ValueSource(strings = {"argument", "bucket"})
  void anArgumentDeterminesTheCost(String route) {
    assertThat(left(get(route + "?n=4"))).isEqualTo(6);
    HttpResponse<String> denied = get(route + "?n=7");
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(field(denied, "Retry-After")).as("a wait helps").matches("60|5\\d");

    assertThat(left(get(route + "?n=6"))).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"argument", "bucket"})
  void aCallThatCostsMoreThanARuleEverAdmitsHasItsOwnMessage(String route) {
    HttpResponse<String> denied = get(route + "?n=11");

    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(denied.headers().firstValue("Retry-After")).isEmpty();
    assertThat(denied.body())
        .contains("\"logref\":\"rate_limited\"", "The request exceeds the amount that is allowed")
        .doesNotContain("Wait");
    assertThat(left(get(route + "?n=10"))).as("it has taken nothing").isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "?n=0", "?n=-1", "?n=1000000001", "?n=2147483647"})
  void whatIsNoCostIsABadRequestAndTakesNothing(String query) {
    HttpResponse<String> rejected = get("argument" + query);

    assertThat(rejected.statusCode()).isEqualTo(400);
    assertThat(rejected.body())
        .contains("The request contains an invalid amount", "\"logref\":\"invalid_cost\"");
    assertThat(rejected.headers().firstValue("RateLimit")).isEmpty();
    assertThat(left(get("argument?n=1"))).isEqualTo(9);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "null", "1.5", "0", "-3", "1e-400", "1e400",
        "99999999999999999999", "\"5\"", "\"\"", "true", "[1]", "{\"a\":1}"
      })
  void aBodyWithoutANumberIsABadRequest(String value) {
    assertThat(post("body", "{\"n\":" + value + "}").statusCode()).isEqualTo(400);
    assertThat(left(post("body", "{\"n\":2}"))).isEqualTo(8);
  }

  @ParameterizedTest
  @ValueSource(strings = {"2", "2.0", "2e0", "0.2e1"})
  void aWholeNumberIsOneHoweverItIsWritten(String two) {
    assertThat(left(post("body", "{\"n\":" + two + "}"))).isEqualTo(8);
  }

  /** Ten billion tokens a month, of which a call may take a billion. */
  @Test
  void aBudgetHasNumbersAsLargeAsAFieldCanState() {
    for (int call = 1; call <= 10; call++) {
      HttpResponse<String> taken = get("budget?n=1000000000");
      assertThat(field(taken, "RateLimit"))
          .startsWith("\"month\";r=" + (10 - call) * 1_000_000_000L + ";");
      assertThat(field(taken, "RateLimit-Policy"))
          .startsWith("\"month\";q=10000000000;w=")
          .contains("\"total\";q=999999999999999;w=")
          .contains("\"rate\";q=90000000000000");
    }
    assertThat(get("budget?n=1").statusCode()).isEqualTo(429);
    assertThat(get("budget?n=1000000001").statusCode()).isEqualTo(400);
  }

  @Test
  void settingsHaveTheSameNumbers() {
    Map<String, Object> settings =
        Map.of(
            "test.stated-callers",
            true,
            "limiter.policies.budget.rules.month.count",
            999_999_999_999_999L);
    try (TestServer own = start(settings)) {
      assertThat(budget(own, 1_000_000_000)).isEqualTo("\"month\";r=999998999999999");
    }
  }

  private String budget(TestServer own, int n) {
    HttpResponse<String> taken = own.get("/costs/budget?n=" + n, StatedCallers.ADDRESS, caller);
    return field(taken, "RateLimit").replaceFirst(";[tw]=.*", "");
  }

  @Test
  void cheapAndDearCallsShareALimit() {
    assertThat(left(get("look"))).isEqualTo(9);
    assertThat(left(get("export"))).isEqualTo(1);
    assertThat(get("export").statusCode()).isEqualTo(429);
    assertThat(left(get("look"))).isZero();
  }

  @Test
  void aSubmissionCountsOnceWhateverItCosts() {
    assertThat(left(post("order", "{\"item\":\"tea\"}"))).isEqualTo(6);
    assertThat(left(post("order", "{\"item\":\"tea\"}"))).isEqualTo(2);
    assertThat(post("order", "{\"item\":\"tea\"}").statusCode()).isEqualTo(429);
  }

  /** Of 10 a minute, 100 an hour and 2 in flight. */
  @Test
  void theNextDraftStatesWhatACallTakesFromEachRule() {
    try (TestServer own = start(Map.of("limiter.headers.format", "draft-next"))) {
      assertThat(limits(own, "look")).isEqualTo("\"10-per-60s\";a=9;c=1");
      assertThat(limits(own, "export")).isEqualTo("\"10-per-60s\";a=1;c=8");
      assertThat(limits(own, "export")).as("denied").isEqualTo("\"10-per-60s\";a=1;c=0");
      assertThat(limits(own, "stacked"))
          .isEqualTo("\"10-per-60s\";a=4;c=6, \"100-per-3600s\";a=94;c=6, \"2-in-flight\";a=1;c=1");
      assertThat(limits(own, "stacked"))
          .as("denied by the first")
          .isEqualTo("\"10-per-60s\";a=4;c=0, \"100-per-3600s\";a=94;c=0, \"2-in-flight\";a=2;c=0");
    }
  }

  /** Without the seconds, which depend on the time. */
  private static String limits(TestServer server, String route) {
    return field(server.get("/costs/" + route), "RateLimit").replaceAll(";w=\\d+", "");
  }

  private static int left(HttpResponse<String> admitted) {
    assertThat(admitted.statusCode()).as(admitted.body()).isEqualTo(200);
    return Integer.parseInt(field(admitted, "RateLimit").replaceFirst(".*;r=(\\d+);.*", "$1"));
  }

  private HttpResponse<String> get(String route) {
    return server.get("/costs/" + route, StatedCallers.ADDRESS, caller);
  }

  private HttpResponse<String> post(String route, String json) {
    return server.post("/costs/" + route, json, StatedCallers.ADDRESS, caller);
  }

  /** Routes whose calls cost more than one; ten a minute. */
  @Controller("/costs")
  @Requires(property = "spec.name", value = CostRoutes.SPEC)
  static class CostRoutes {

    static final String SPEC = "Costs";

    private static final String OK = "ok";

    @Get("/five")
    @RateLimiter(cost = "5", rules = @RateRule(count = 10))
    String five() {
      return OK;
    }

    @Get("/argument{?n}")
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10), message = "Wait {retryAfter}")
    String argument(@Nullable @QueryValue Integer n) {
      return OK;
    }

    @Get("/bucket{?n}")
    @RateLimiter(
        cost = "#{n}",
        rules = @RateRule(count = 10, tokenBucket = @TokenBucket(refill = 1)))
    String bucket(@Nullable @QueryValue Integer n) {
      return OK;
    }

    @Get("/budget{?n}")
    @RateLimiter(
        value = "budget",
        header = StatedCallers.ADDRESS,
        cost = "#{n}",
        rules = {
          @RateRule(
              name = "month",
              count = 10_000_000_000L,
              fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH)),
          @RateRule(
              name = "total",
              count = 999_999_999_999_999L,
              time = 366,
              timeUnit = TimeUnit.DAYS,
              algorithm = Algorithm.SLIDING_WINDOW_COUNTER),
          @RateRule(
              name = "rate",
              count = 90_000_000_000_000L,
              tokenBucket = @TokenBucket(refill = 1_001_000_000))
        })
    String budget(@Nullable @QueryValue Integer n) {
      return OK;
    }

    @Post("/body")
    @RateLimiter(cost = "#{order.get('n')}", rules = @RateRule(count = 10))
    String body(@Body Map<String, Object> order) {
      return OK;
    }

    @Get("/look")
    @RateLimiter(key = "credits", rules = @RateRule(count = 10))
    String look() {
      return OK;
    }

    @Get("/export")
    @RateLimiter(key = "credits", cost = "8", rules = @RateRule(count = 10))
    String export() {
      return OK;
    }

    @Get("/stacked")
    @RateLimiter(
        cost = "6",
        rules = {
          @RateRule(count = 10),
          @RateRule(count = 100, time = 3600),
          @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
        })
    String stacked() {
      return OK;
    }

    @Post("/order")
    @RateLimiter(
        cost = "4",
        rules = @RateRule(count = 10),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS),
        preventDuplicateRule = @RateRule(count = 2, time = 60))
    String order(@Body Map<String, Object> order) {
      return OK;
    }
  }
}
