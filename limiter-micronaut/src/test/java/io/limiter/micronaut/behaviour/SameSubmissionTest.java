// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * What makes two submissions the same: caller, arguments, an expression, or a key of the client.
 */
class SameSubmissionTest extends WithAndWithoutGate {

  private static final String KEY = "Idempotency-Key";

  SameSubmissionTest() {
    super(SameSubmissionRoutes.SPEC, Map.of("test.stated-callers", true, "test.recorded", true));
  }

  /** A submission of a route; the other one is not the same, except by caller alone. */
  private int submit(String user, String route, String content) {
    List<String> headers =
        new ArrayList<>(List.of("X-User", user, "Content-Type", "application/json"));
    if (route.contains("key")) {
      headers.addAll(List.of(KEY, content));
    }
    String query = route.startsWith("expression") ? "?number=" + content : "";
    return server
        .exchange(
            "POST",
            "/same-submission/" + route + query,
            "{\"item\":\"" + content + "\"}",
            headers.toArray(String[]::new))
        .statusCode();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "caller",
        "arguments",
        "expression",
        "key",
        "key-mono",
        "key-flux",
        "optional-key"
      })
  void theSameSubmissionIsAcceptedOnceOfEachCaller(String route) {
    assertThat(submit("ada", route, "a")).isEqualTo(200);
    assertThat(submit("ada", route, "a")).isEqualTo(409);

    assertThat(submit("bob", route, "a")).isEqualTo(200);
    assertThat(submit("bob", route, "a")).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"arguments", "expression", "key", "key-mono", "key-flux", "optional-key"})
  void anotherSubmissionIsAccepted(String route) {
    submit("ada", route, "a");

    assertThat(submit("ada", route, "b")).isEqualTo(200);
    assertThat(submit("ada", route, "A")).isEqualTo(200);
    assertThat(submit("ada", route, "a")).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"caller-twice", "arguments-twice", "expression-twice", "key-twice"})
  void asManyAreAcceptedAsTheRuleAllows(String route) {
    assertThat(submit("ada", route, "a")).isEqualTo(200);
    assertThat(submit("ada", route, "a")).isEqualTo(200);
    assertThat(submit("ada", route, "a")).isEqualTo(409);
    assertThat(submit("bob", route, "a")).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({"caller, caller-twice", "arguments, arguments-twice", "key, key-mono"})
  void methodsDoNotKnowEachOthersSubmissions(String one, String other) {
    assertThat(submit("ada", one, "a")).isEqualTo(200);
    assertThat(submit("ada", other, "a")).isEqualTo(200);
  }

  @Test
  void onlyTheExpressionCounts() {
    assertThat(post("expression?number=7&note=a").statusCode()).isEqualTo(200);
    assertThat(post("expression?number=7&note=b").statusCode()).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"expression", "expression?note=a", "expression?number="})
  void anExpressionWithoutAValueIsABadRequest(String call) {
    assertThat(post(call).statusCode()).isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {"\"abc\"|abc", "abc|\"abc\"", "\"a\\\"c\"|a\"c", "\"a\\\\c\"|a\\c"})
  void aQuotedKeyIsTheBareOne(String one, String same) {
    assertThat(post("key", KEY, one).statusCode()).isEqualTo(200);
    assertThat(post("key", KEY, same).statusCode()).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"key", "key-mono", "key-flux", "key-twice"})
  void aRequiredKeyThatIsMissingIsABadRequestAndNotCounted(String route) {
    assertBadRequest(post(route));
    assertBadRequest(post(route, KEY, ""));
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"", "\"abc", "\"\"", "\"a\\b\"", "a\tb"})
  void aMalformedKeyIsABadRequestEvenWhereItIsOptional(String malformed) {
    for (String route : new String[] {"key", "key-mono", "key-flux", "optional-key"}) {
      assertBadRequest(post(route, KEY, malformed));
    }
  }

  @Test
  void aKeyThatIsTooLongOrSentTwiceIsABadRequest() {
    assertBadRequest(post("key", KEY, "k".repeat(256)));
    assertBadRequest(post("optional-key", KEY, "a", KEY, "a"));

    assertThat(post("key", KEY, "k".repeat(255)).statusCode()).isEqualTo(200);
  }

  @Test
  void withoutAnOptionalKeyNothingIsADuplicateAndRedisIsNotAsked() {
    RecordedDecisions decisions = server.bean(RecordedDecisions.class);
    int before = decisions.requests().size();

    for (int call = 0; call < 3; call++) {
      HttpResponse<String> accepted = post("optional-key");
      assertThat(accepted.statusCode()).isEqualTo(200);
      assertThat(accepted.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
    }
    assertThat(decisions.requests()).hasSize(before);
    assertThat(server.keys().all()).isEmpty();

    post("optional-key", KEY, "a");
    assertThat(decisions.requests()).hasSize(before + 1);
  }

  @Test
  void withoutAnOptionalKeyTheRulesStillHold() {
    for (int left = 2; left >= 0; left--) {
      assertThat(field(post("optional-key-limited"), "RateLimit"))
          .startsWith("\"3-per-60s\";r=%s;".formatted(left));
    }
    assertThat(post("optional-key-limited").statusCode()).isEqualTo(429);
    assertThat(server.keys().all()).hasSize(1);
  }

  private void assertBadRequest(HttpResponse<String> answer) {
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.headers().map()).doesNotContainKeys("ratelimit", "retry-after");
    assertThat(server.keys().all()).isEmpty();
  }

  private HttpResponse<String> post(String call, String... headers) {
    return server.exchange("POST", "/same-submission/" + call, "", headers);
  }

  /** Users' submissions, distinguished in every supported way. */
  @Controller("/same-submission")
  @Requires(property = "spec.name", value = SameSubmissionRoutes.SPEC)
  static class SameSubmissionRoutes {

    /** By the key of the client. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule(count = 10, time = 60),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY))
    @interface ByKey {}

    static final String SPEC = "SameSubmission";

    private static final String OK = "ok";

    @Post("/key")
    @ByKey
    String key() {
      return OK;
    }

    @Post("/key-mono")
    @ByKey
    Mono<String> keyMono() {
      return Mono.just(OK);
    }

    @Post("/key-flux")
    @ByKey
    Flux<Integer> keyFlux() {
      return Flux.just(1);
    }

    @Post("/key-twice")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 2, time = 60),
        duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY))
    String keyTwice() {
      return OK;
    }

    @Post("/optional-key")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY, requireIdempotencyKey = false))
    String optionalKey() {
      return OK;
    }

    @Post("/optional-key-limited")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule(count = 3, time = 60),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY, requireIdempotencyKey = false))
    String optionalKeyLimited() {
      return OK;
    }

    @Post("/expression{?number,note}")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule(count = 10, time = 60),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(key = "#{number}"))
    String expression(@Nullable @QueryValue String number, @Nullable @QueryValue String note) {
      return OK;
    }

    @Post("/expression-twice{?number}")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 2, time = 60),
        duplicate = @Duplicate(key = "#{number}"))
    Mono<String> expressionTwice(@QueryValue String number) {
      return Mono.just(OK);
    }

    @Post("/arguments")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    String arguments(@Body Map<String, Object> order) {
      return OK;
    }

    @Post("/arguments-twice")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 2, time = 60),
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    String argumentsTwice(@Body Map<String, Object> order) {
      return OK;
    }

    @Post("/caller")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60))
    String caller() {
      return OK;
    }

    @Post("/caller-twice")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 2, time = 60))
    Flux<Integer> callerTwice() {
      return Flux.just(1);
    }
  }
}
