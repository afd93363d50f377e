// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.yaml.snakeyaml.Yaml;

/**
 * What the document has that micronaut-openapi generates for limited routes. Each test has a path
 * of its own, since micronaut-openapi keeps operations by their paths as long as its classes are
 * loaded.
 */
class OpenApiTest {

  private static final String APPLICATION =
      """
      @io.swagger.v3.oas.annotations.OpenAPIDefinition(
          info = @io.swagger.v3.oas.annotations.info.Info(title = "shop", version = "1"))
      class Application {}
      @Controller("/shop")
      class Shop {
        %s
      }
      @Introspected record Order(String item) {}
      """;

  @TempDir private Path output;

  /** Callers do not see rules on trial, and need a day on which their months begin. */
  @Test
  void aTrialIsNotDocumentedAndAMissingBillingDayIs() throws IOException {
    Map<String, Object> operation =
        operation(
            "get",
            """
            @Get("/billed")
            @RateLimiter(
                rules = @RateRule(
                    count = 9_000,
                    fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = "#{day}")),
                trial = @RateRule(count = 10, time = 60))
            List<String> billed(@QueryValue int day) { return List.of(); }
            """);
    assertThat(in(operation, "x-rate-limits")).containsOnlyKeys("9000-per-month");
    assertThat(in(operation, "responses")).containsOnlyKeys("200", "400", "429");
  }

  @Test
  void aLimitedRouteMayAnswer429() throws IOException {
    Map<String, Object> operation =
        operation(
            "get",
            """
            @Get("/items")
            @RateRule(count = 10, time = 60)
            @RateRule(count = 500, time = 1, limitType = LimitType.GLOBAL, name = "for-all")
            @RateRule(count = 9_000, fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH))
            List<String> items() { return List.of(); }
            """);
    assertThat(in(operation, "x-rate-limits"))
        .isEqualTo(
            Map.of(
                "10-per-60s", "10 calls in 60 s for each client address, as annotated",
                "for-all", "500 calls in 1 s for all callers together, as annotated",
                "9000-per-month",
                    "9000 calls in each month for each client address, as annotated"));
    assertThat(in(operation, "responses")).containsOnlyKeys("200", "429");
    assertThat(in(operation, "responses", "200", "content")).containsKey("application/json");
    Map<String, Object> denied = in(operation, "responses", "429");
    assertThat(denied).containsEntry("description", "Too many requests");
    assertThat(in(denied, "headers"))
        .containsOnlyKeys("Retry-After", "RateLimit", "RateLimit-Policy");
    assertThat(in(denied, "content", "application/json", "schema"))
        .containsEntry("$ref", "#/components/schemas/JsonError");
  }

  @Test
  void rulesMayCountUnitsOrCallsWithCertainAnswers() throws IOException {
    Map<String, Object> operation =
        operation(
            "get",
            """
            @Get("/items")
            @RateLimiter(countIf = "#{status == 404}", rules = @RateRule(count = 10, time = 60))
            @RateLimiter(value = "units", cost = "5", rules = @RateRule(count = 50, time = 1))
            List<String> items() { return List.of(); }
            """);
    assertThat(in(operation, "x-rate-limits"))
        .isEqualTo(
            Map.of(
                "10-per-60s",
                "10 calls with certain answers in 60 s for each client address, as annotated",
                "50-per-1s",
                "50 units in 1 s for each client address, as annotated"));
  }

  @Test
  void aDuplicateIs409AndAMissingValue400() throws IOException {
    Map<String, Object> operation =
        operation(
            "post",
            """
            @Post("/orders")
            @RateLimiter(
                subject = "#{order.item()}",
                status = 503,
                rules = @RateRule(count = 2, time = 1, counts = Counts.FAILURES))
            @PreventDuplicate(within = 10)
            void order(@Body Order order) {}
            """);
    assertThat(in(operation, "responses"))
        .containsKeys("400", "409", "503")
        .doesNotContainKey("429");
    assertThat(in(operation, "x-rate-limits"))
        .containsEntry(
            "2-per-1s",
            "2 failed calls in 1 s for each value of the argument order.item, as annotated")
        .containsEntry(
            "duplicates",
            "1 equal submission in 10 s for each value of the argument order.item, as annotated");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "subject = '#{phone}'                    | each value of the argument phone",
        "subject = '#{ctx[io.limiter.micronaut.subject.ClientAddress].of(request)}' | each client address",
        "subject = '#{ctx[io.limiter.micronaut.subject.ClientAddress].of(request) + phone}' | each value that the service computes",
        "subject = '#{env[\"partner.region\"] + phone}' | each value that the service computes",
        "limitType = LimitType.USER_ID           | each user",
        "limitType = LimitType.GLOBAL            | all callers together",
        "header = 'X-Api-Key'                    | each value of the header x-api-key",
        "header = 'X-Device', limitType = LimitType.IP | each client address in the header x-device"
      })
  void subjectsAreInWordsWithoutCodeOfTheService(String who, String words) throws IOException {
    String members = who.replace("\"", "~").replace("'", "\"").replace("~", "'");
    Map<String, Object> operation =
        operation(
            "get",
            """
            @Get("/items{?phone}")
            @RateLimiter(%s, rules = @RateRule(count = 2, time = 1))
            List<String> items(io.micronaut.http.HttpRequest<?> request, String phone) { return List.of(); }
            """
                .formatted(members));
    assertThat(in(operation, "x-rate-limits"))
        .containsOnly(Map.entry("2-per-1s", "2 calls in 1 s for " + words + ", as annotated"));
  }

  @Test
  void aKeyIsAHeaderWithItsDenials() throws IOException {
    Map<String, Object> operation =
        operation(
            "post",
            """
            @Post("/payments")
            @io.limiter.idempotency.Idempotent(retain = "48h")
            String pay(@Body Order order) { return ""; }
            """);
    assertThat(operation).doesNotContainKey("x-rate-limits");
    assertThat(key(operation))
        .containsEntry("in", "header")
        .containsEntry("required", true)
        .containsEntry("schema", Map.of("type", "string", "minLength", 1, "maxLength", 255))
        .containsEntry(
            "description",
            "The request runs once for each key of a caller: a repetition receives the first response, which is kept for 48h, as annotated");
    Map<String, Object> responses = in(operation, "responses");
    assertThat(responses).containsOnlyKeys("200", "400", "409", "413", "415", "422", "503");
    assertThat(in(responses, "413"))
        .containsEntry("description", "The body of a request with an Idempotency-Key is too large");
    assertThat(in(responses, "415"))
        .containsEntry("description", "The body of a request with an Idempotency-Key has parts");
    assertThat(in(responses, "422"))
        .containsEntry("description", "The Idempotency-Key was used for another request")
        .doesNotContainKey("headers");
    assertThat(operation).containsKey("requestBody");
  }

  @Test
  void aKeyMayBeOptionalAndItsRouteLimited() throws IOException {
    Map<String, Object> operation =
        operation(
            "post",
            """
            @Post("/limited-payments")
            @io.limiter.idempotency.Idempotent(retain = "", required = false)
            @RateRule(count = 10, time = 60)
            @PreventDuplicate(within = 10)
            String pay(@QueryValue int number, @Body Order order) { return ""; }
            """);
    assertThat(key(operation))
        .doesNotContainEntry("required", true)
        .containsEntry(
            "description",
            "The request runs once for each key of a caller: a repetition is denied with 409 for 24h");
    assertThat((List<?>) operation.get("parameters")).hasSize(2);
    Map<String, Object> responses = in(operation, "responses");
    assertThat(responses).containsOnlyKeys("200", "400", "409", "413", "415", "422", "429", "503");
    assertThat(in(responses, "409")).as("also of limits").containsKey("headers");
    assertThat(in(responses, "422")).as("before the limits").doesNotContainKey("headers");
    assertThat(in(responses, "409"))
        .containsEntry(
            "description",
            "The request repeats an accepted submission. The Idempotency-Key was used, or its first request still runs");
    assertThat(in(operation, "x-rate-limits")).containsOnlyKeys("10-per-60s", "duplicates");
  }

  @Test
  void aHeaderThatTheRouteTakesItselfIsNotAddedAgain() throws IOException {
    Map<String, Object> operation =
        operation(
            "post",
            """
            @Post("/own-header")
            @io.limiter.idempotency.Idempotent
            String pay(@Header("idempotency-key") String key, @Body Order order) { return ""; }
            """);
    assertThat((List<?>) operation.get("parameters")).hasSize(1);
  }

  @SuppressWarnings("unchecked") // a document of mappings
  private static Map<String, Object> key(Map<String, Object> operation) {
    return ((List<Map<String, Object>>) operation.get("parameters"))
        .stream()
            .filter(parameter -> parameter.get("name").equals("Idempotency-Key"))
            .findFirst()
            .orElseThrow();
  }

  @Test
  void documentationOfTheApplicationIsKept() throws IOException {
    Map<String, Object> operation =
        operation(
            "get",
            """
            @Get("/slow")
            @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10))
            @io.swagger.v3.oas.annotations.Operation(summary = "All items")
            @io.swagger.v3.oas.annotations.responses.ApiResponse(responseCode = "200", description = "Here")
            @io.swagger.v3.oas.annotations.responses.ApiResponse(responseCode = "429", description = "Slower")
            List<String> items() { return List.of(); }
            """);
    assertThat(operation).containsEntry("summary", "All items");
    assertThat(in(operation, "responses")).containsOnlyKeys("200", "429", "503");
    assertThat(in(operation, "responses", "200")).containsEntry("description", "Here");
    assertThat(in(operation, "responses", "429")).containsEntry("description", "Slower");
    assertThat(in(operation, "x-rate-limits"))
        .containsEntry(
            "2-per-1s-queue-10",
            "2 calls in 1 s, evenly; up to 10 wait for each client address, as annotated");
  }

  @Test
  void aRouteWithoutLimitsIsAsItWas() throws IOException {
    Map<String, Object> operation =
        operation("get", "@Get(\"/free\") List<String> items() { return List.of(); }");
    assertThat(operation).doesNotContainKey("x-rate-limits");
    assertThat(in(operation, "responses")).containsOnlyKeys("200");
  }

  @Test
  void anOptionLeavesLimitsOut() throws IOException {
    Map<String, Object> operation =
        operation(
            "get",
            "@Get(\"/left-out\") @RateRule List<String> items() { return List.of(); }",
            "-A" + CompilerOptions.OPENAPI + "=false");
    assertThat(operation).doesNotContainKey("x-rate-limits");
    assertThat(in(operation, "responses")).containsOnlyKeys("200");
  }

  private Map<String, Object> operation(String httpMethod, String method, String... options)
      throws IOException {
    Compilation compiled = Compilation.of(output, APPLICATION.formatted(method), options);
    assertThat(compiled.errors()).isEmpty();
    Map<String, Object> document =
        new Yaml().load(Files.readString(output.resolve("META-INF/swagger/shop-1.yml")));
    Map<String, Object> path = in(document, "paths");
    assertThat(path).hasSize(1);
    return in(path, path.keySet().iterator().next(), httpMethod);
  }

  @SuppressWarnings("unchecked") // a document of mappings
  private static Map<String, Object> in(Map<String, Object> document, String... keys) {
    Map<String, Object> part = document;
    for (String key : keys) {
      assertThat(part).containsKey(key);
      part = (Map<String, Object>) part.get(key);
    }
    return part;
  }
}
