// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.RuleVerdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.PeriodAnchor;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.StreamBudget;
import io.limiter.micronaut.annotation.StreamEnd;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Sources;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.sse.Event;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;

/** Periods of the calendar that begin on a day of each subject. */
class BillingDaysTest {

  private static final String SPEC = "BillingDaysTest";
  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");

  private static final String SETTINGS =
      """
      limiter:
        policies:
          routed:
            header: X-Customer
            rules: [{count: 2, fixed-window: {calendar: month, anchor: billing-days}}]
        routes:
          - {path: "/billed/routed", policy: routed}
        tier-lookup: {headers: [X-Tier]}
        tiers:
          gold:
            by-bean: {rules: {bean: {count: 5}}}
      """;

  @Controller("/billed")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/expression")
    @RateLimiter(
        value = "by-expression",
        header = "X-Customer",
        rules =
            @RateRule(
                count = 3,
                fixedWindow =
                    @FixedWindow(
                        calendar = CalendarPeriod.MONTH,
                        zone = "Europe/Berlin",
                        anchor = "#{day}")))
    String expression(@QueryValue @Nullable String day) {
      return "ok";
    }

    @Get("/routed")
    String routed() {
      return "ok";
    }

    @Get("/weekly")
    @RateLimiter(value = "weekly", header = "X-Customer", lease = "1s")
    @RateRule(
        count = 3,
        fixedWindow = @FixedWindow(calendar = CalendarPeriod.WEEK, anchor = "#{day}"))
    String weekly(@QueryValue int day) {
      return "ok";
    }

    @Get("/priced")
    @RateLimiter(
        value = "priced",
        header = "X-Customer",
        cost = "10",
        resultCost = Letters.class,
        rules =
            @RateRule(
                count = 100,
                fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = "#{day}")))
    String priced(@QueryValue int day, @QueryValue int n) {
      return "a".repeat(n);
    }

    @Get(uri = "/streamed", produces = MediaType.TEXT_EVENT_STREAM)
    @RateLimiter(
        value = "streamed",
        header = "X-Customer",
        cost = "10",
        resultCost = Letters.class,
        stream = @StreamBudget(end = StreamEnd.CUT),
        ban = @Ban(violations = 100),
        rules =
            @RateRule(
                count = 100,
                fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = "#{day}")))
    Flux<Event<String>> streamed(@QueryValue int day, @QueryValue int n) {
      return Flux.range(0, n).map(i -> Event.of("a"));
    }

    @Get("/bean")
    @RateLimiter(
        value = "by-bean",
        header = "X-Customer",
        rules =
            @RateRule(
                name = "bean",
                count = 2,
                fixedWindow =
                    @FixedWindow(calendar = CalendarPeriod.YEAR, anchor = "billing-days")))
    String bean() {
      return "ok";
    }
  }

  /** One unit for a letter. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Letters implements ResultCost {

    @Override
    public long of(@Nullable Object result) {
      return result instanceof Event<?> ? 1 : ((String) result).length();
    }
  }

  @Singleton
  @Named("billing-days")
  @Requires(property = "spec.name", value = SPEC)
  static class BillingDays implements PeriodAnchor {

    final Map<String, LocalDate> days = new HashMap<>();
    final ConcurrentLinkedQueue<String> asked = new ConcurrentLinkedQueue<>();

    @Override
    public LocalDate anchor(String subject, Optional<HttpRequest<?>> request) {
      asked.add(subject + request.map(HttpRequest::getPath).orElse(""));
      return days.get(subject);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class StatedTiers implements Tiers {

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture(request.getHeaders().get("X-Tier"));
    }
  }

  private static HttpService start(boolean inRedis) {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(SETTINGS));
    if (inRedis) {
      settings.put("redis.uri", RedisFixture.uri());
      settings.put(
          "limiter.redis.key-prefix",
          "billed-" + UUID.randomUUID().toString().substring(0, 8) + ":");
      settings.put("limiter.redis.deadline", "10s");
    }
    return HttpService.start(SPEC, settings);
  }

  /** The time until the next such day begins. */
  private static Duration untilDay(int day, ZoneId zone) {
    ZonedDateTime now = ZonedDateTime.now(zone);
    LocalDate next = now.toLocalDate();
    do {
      next = next.plusDays(1);
    } while (next.getDayOfMonth() != Math.min(day, next.lengthOfMonth()));
    return Duration.between(now, next.atStartOfDay(zone));
  }

  private static void assertRest(HttpResponse<String> response, Duration expected) {
    String field = field(response, "RateLimit");
    long rest = Long.parseLong(field.substring(field.indexOf("t=") + 2));
    assertThat(rest).isBetween(expected.toSeconds() - 1, expected.toSeconds() + 30);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anExpressionBeginsTheMonthsOfEachSubject(boolean inRedis) {
    try (HttpService service = start(inRedis)) {
      for (int day : List.of(1, 15, 28, 31)) {
        String customer = "customer-" + day;
        assertRest(
            service.get("/billed/expression?day=" + day, "X-Customer", customer),
            untilDay(day, BERLIN));
        assertRest(
            service.get(
                "/billed/expression?day=2024-03-" + (day < 10 ? "0" : "") + day,
                "X-Customer",
                customer),
            untilDay(day, BERLIN));
        assertThat(service.status("/billed/expression?day=" + day, "X-Customer", customer))
            .isEqualTo(200);
        assertThat(service.status("/billed/expression?day=" + day, "X-Customer", customer))
            .isEqualTo(429);
      }
      // Without a customer, as the calendar has them.
      assertRest(service.get("/billed/expression?day=15"), untilDay(1, BERLIN));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "?day=", "?day=0", "?day=32", "?day=-1", "?day=2024-02-30", "?day=x"})
  void aCallWithoutADayIsABadRequestAndCountsNothing(String query) {
    try (HttpService service = start(true)) {
      HttpResponse<String> bad = service.get("/billed/expression" + query, "X-Customer", "ada");
      assertThat(bad.statusCode()).isEqualTo(400);
      assertThat(bad.body()).contains("The request contains an invalid billing day");
      assertThat(
              service
                  .get("/billed/expression?day=1", "X-Customer", "ada")
                  .headers()
                  .firstValue("RateLimit"))
          .hasValueSatisfying(field -> assertThat(field).contains(";r=2;"));
    }
  }

  /** The week that began tomorrow a week ago lasts until the next such day, tomorrow or later. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDayThatIsTodayIsNoWayToMore(boolean inRedis) {
    try (HttpService service = start(inRedis)) {
      LocalDate today = LocalDate.now(ZoneOffset.UTC);
      String tomorrow = "/billed/weekly?day=" + today.plusDays(1).getDayOfWeek().getValue();
      for (int call = 0; call < 3; call++) {
        assertThat(service.status(tomorrow, "X-Customer", "ada")).isEqualTo(200);
      }
      for (int day = 1; day <= 7; day++) {
        assertThat(service.status("/billed/weekly?day=" + day, "X-Customer", "ada")).isEqualTo(429);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aBeanIsAskedWithTheSubjectOfRequestsAndOfCode(boolean inRedis) {
    try (HttpService service = start(inRedis)) {
      BillingDays beans = service.bean(BillingDays.class);
      LocalDate tomorrow = LocalDate.now(ZoneOffset.UTC).plusDays(1);
      beans.days.put("ada", tomorrow.withYear(2000));
      Duration rest =
          Duration.between(
              ZonedDateTime.now(ZoneOffset.UTC), tomorrow.atStartOfDay(ZoneOffset.UTC));
      assertRest(service.get("/billed/bean", "X-Customer", "ada"), rest);
      assertRest(service.get("/billed/routed", "X-Customer", "ada"), rest);
      assertThat(beans.asked)
          .containsExactly(
              "ada" + HttpService.path("/billed/bean"), "ada" + HttpService.path("/billed/routed"));
      assertThat(service.status("/billed/bean", "X-Customer", "bob")).isEqualTo(500);

      LimitedPolicy policy = service.bean(LimitPolicies.class).get("by-bean");
      RuleVerdict read = peek(service, policy.forHeader("X-Customer", "ada"));
      assertThat(beans.asked).last().isEqualTo("ada");
      assertThat(read.remaining()).isEqualTo(1);
      assertThat(read.resetAfter()).isLessThanOrEqualTo(Duration.ofDays(1));

      assertThat(service.status("/billed/bean", "X-Customer", "ada", "X-Tier", "gold"))
          .isEqualTo(200); // 2 of 5
      assertThat(service.status("/billed/bean", "X-Customer", "ada")).isEqualTo(429);
    }
  }

  private static RuleVerdict peek(HttpService service, LimitRequest request) {
    return service
        .bean(LimitStore.class)
        .decide(request, Mode.PEEK)
        .toCompletableFuture()
        .join()
        .rules()
        .get(0);
  }

  @ParameterizedTest
  @CsvSource({"priced, true", "priced, false", "streamed, true", "streamed, false"})
  void whatACallHasCostIsTakenWhateverItsDay(String policy, boolean inRedis) {
    try (HttpService service = start(inRedis)) {
      LimitedPolicy limited = service.bean(LimitPolicies.class).get(policy);
      for (int day : List.of(1, 15, 31)) {
        String customer = "customer-" + day;
        String path = "/billed/%s?day=%s&n=".formatted(policy, day);
        for (int n : List.of(3, 45)) {
          assertThat(service.status(path + n, "X-Customer", customer)).isEqualTo(200);
        }
        await()
            .untilAsserted(
                () ->
                    assertThat(
                            peek(service, limited.withAnchor(day).forHeader("X-Customer", customer))
                                .remaining())
                        .isEqualTo(100 - 3 - 45));
      }
    }
  }

  @Test
  void aStreamIsCutAtTheEndOfTheBudgetOfItsMonth() {
    try (HttpService service = start(true)) {
      String answer = service.get("/billed/streamed?day=15&n=150", "X-Customer", "ada").body();
      assertThat(answer.split("data: a", -1)).hasSize(101);
    }
  }

  @Test
  void codeNamesTheDayThatOnlyACallHas() {
    try (HttpService service = start(true)) {
      assertThat(service.status("/billed/expression?day=15", "X-Customer", "ada")).isEqualTo(200);
      LimitedPolicy policy = service.bean(LimitPolicies.class).get("by-expression");
      for (Object day : List.of(15, "15", LocalDate.of(2026, 1, 15))) {
        RuleVerdict read = peek(service, policy.withAnchor(day).forHeader("X-Customer", "ada"));
        assertThat(read.remaining()).isEqualTo(2);
        assertThat(read.resetAfter())
            .isBetween(untilDay(15, BERLIN).minusSeconds(1), untilDay(15, BERLIN).plusSeconds(30));
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> policy.withAnchor(32))
          .withMessage(
              "The anchor '32' of the policy 'by-expression' is no day: it must be a date such as 2024-01-31, or a day of the month, 1 to 31");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> service.bean(LimitPolicies.class).get("weekly").withAnchor(8))
          .withMessageContaining("a day of the week, 1 for Monday to 7");
    }
  }
}
