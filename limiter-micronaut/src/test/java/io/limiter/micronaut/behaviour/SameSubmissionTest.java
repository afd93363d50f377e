// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.net.http.HttpResponse;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What makes two submissions the same: caller, arguments, or an expression. */
class SameSubmissionTest extends WithAndWithoutGate {

  SameSubmissionTest() {
    super(SameSubmissionRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  /** A submission of a route; the other one is not the same, except by caller alone. */
  private int submit(String user, String route, String content) {
    String query = route.startsWith("expression") ? "?number=" + content : "";
    return server
        .exchange(
            "POST",
            "/same-submission/" + route + query,
            "{\"item\":\"" + content + "\"}",
            "X-User",
            user,
            "Content-Type",
            "application/json")
        .statusCode();
  }

  @ParameterizedTest
  @ValueSource(strings = {"caller", "arguments", "expression"})
  void theSameSubmissionIsAcceptedOnceOfEachCaller(String route) {
    assertThat(submit("ada", route, "a")).isEqualTo(200);
    assertThat(submit("ada", route, "a")).isEqualTo(409);

    assertThat(submit("bob", route, "a")).isEqualTo(200);
    assertThat(submit("bob", route, "a")).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"arguments", "expression"})
  void anotherSubmissionIsAccepted(String route) {
    submit("ada", route, "a");

    assertThat(submit("ada", route, "b")).isEqualTo(200);
    assertThat(submit("ada", route, "A")).isEqualTo(200);
    assertThat(submit("ada", route, "a")).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"caller-twice", "arguments-twice", "expression-twice"})
  void asManyAreAcceptedAsTheRuleAllows(String route) {
    assertThat(submit("ada", route, "a")).isEqualTo(200);
    assertThat(submit("ada", route, "a")).isEqualTo(200);
    assertThat(submit("ada", route, "a")).isEqualTo(409);
    assertThat(submit("bob", route, "a")).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({"caller, caller-twice", "arguments, arguments-twice"})
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

  private HttpResponse<String> post(String call, String... headers) {
    return server.exchange("POST", "/same-submission/" + call, "", headers);
  }

  /** Users' submissions, distinguished in every supported way. */
  @Controller("/same-submission")
  @Requires(property = "spec.name", value = SameSubmissionRoutes.SPEC)
  static class SameSubmissionRoutes {

    static final String SPEC = "SameSubmission";

    private static final String OK = "ok";

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
