// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.path;
import static io.limiter.micronaut.testing.Json.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.behaviour.DuplicatesTest.SubmissionRoutes.Pending;
import io.limiter.micronaut.behaviour.RedisKeys.Stored;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A submission is accepted once, and denied as long as it is known. */
class DuplicatesTest extends WithAndWithoutGate {

  private static final String ORDER = "{\"item\":\"paper\",\"to\":{\"city\":\"Bonn\",\"zip\":1}}";

  private Pending pending;

  DuplicatesTest() {
    super(SubmissionRoutes.SPEC);
  }

  @BeforeParameterizedClassInvocation
  void findBeans() {
    pending = server.bean(Pending.class);
  }

  @BeforeEach
  void forgetCalls() {
    pending.calls.clear();
  }

  @ParameterizedTest
  @ValueSource(strings = {"by-caller", "by-arguments/shop"})
  void aDuplicateIsAConflict(String route) {
    assertThat(submit(route, ORDER).statusCode()).isEqualTo(200);

    HttpResponse<String> duplicate = submit(route, ORDER);
    assertThat(duplicate.statusCode()).isEqualTo(409);
    assertThat(field(duplicate, "Cache-Control")).isEqualTo("no-store");
    // Who obeys it would submit again what was accepted.
    assertThat(duplicate.headers().firstValue("Retry-After")).isEmpty();
    assertThat(field(duplicate, "RateLimit-Policy")).isEqualTo("\"10-per-60s\";q=10;w=60");
    assertThat(json(duplicate.body()))
        .isEqualTo(
            json(
                """
            {"message":"Conflict","logref":"duplicate_submission","_links":{"self":{"href":"%s","templated":false}},"_embedded":{"errors":[{"message":"This request was already submitted"}]}}"""
                    .formatted(path("/submissions/" + route))));
  }

  @ParameterizedTest
  @ValueSource(strings = {"by-caller", "by-arguments/shop"})
  void aDuplicateTakesNothing(String route) {
    assertThat(field(submit(route, ORDER), "RateLimit")).startsWith("\"10-per-60s\";r=9;");
    Map<String, Stored> before = server.keys().all();

    for (int call = 0; call < 5; call++) {
      assertThat(field(submit(route, ORDER), "RateLimit")).startsWith("\"10-per-60s\";r=9;");
    }
    assertThat(server.keys().all().keySet()).isEqualTo(before.keySet()).hasSize(2);
    assertThat(server.keys().all().values())
        .extracting(Stored::bytes)
        .containsExactlyElementsOf(before.values().stream().map(Stored::bytes).toList());
  }

  @Test
  void anySubmissionOfACallerIsADuplicateUnlessArgumentsCount() {
    assertThat(submit("by-caller", ORDER).statusCode()).isEqualTo(200);

    assertThat(submit("by-caller", "{\"item\":\"ink\"}").statusCode()).isEqualTo(409);
    assertThat(submit("by-arguments/shop", ORDER).statusCode()).isEqualTo(200);
  }

  @Test
  void theOrderOfMembersAndSpaceDoNotCount() {
    submit("by-arguments/shop", ORDER);

    assertThat(
            submit(
                    "by-arguments/shop",
                    "{ \"to\": {\"zip\": 1, \"city\": \"B\\u006fnn\"},\n \"item\": \"paper\" }")
                .statusCode())
        .isEqualTo(409);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "shop|{\"item\":\"ink\",\"to\":{\"city\":\"Bonn\",\"zip\":1}}",
        "shop|{\"item\":\"paper\",\"to\":{\"city\":\"Bonn\",\"zip\":2}}",
        "shop|{\"item\":\"paper\",\"to\":{\"city\":\"Bonn\",\"zip\":\"1\"}}",
        "shop|{\"item\":\"paper\",\"city\":\"Bonn\",\"to\":{\"zip\":1}}",
        "shop|{\"item\":\"paper\",\"to\":[{\"city\":\"Bonn\",\"zip\":1}]}",
        "shop|{\"item\":\"paper\",\"to\":{\"city\":\"Bonn\",\"zip\":1},\"more\":0}",
        "other|{\"item\":\"paper\",\"to\":{\"city\":\"Bonn\",\"zip\":1}}"
      })
  void otherArgumentsAreAnotherSubmission(String shop, String body) {
    submit("by-arguments/shop", ORDER);

    assertThat(submit("by-arguments/" + shop, body).statusCode()).isEqualTo(200);
    assertThat(submit("by-arguments/" + shop, body).statusCode()).isEqualTo(409);
  }

  @Test
  void theOrderOfElementsCounts() {
    assertThat(submit("by-arguments/shop", "{\"a\":[1,2]}").statusCode()).isEqualTo(200);
    assertThat(submit("by-arguments/shop", "{\"a\":[2,1]}").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.0", "1e0", "10e-1"})
  void aNumberIsTheSameHoweverItIsWritten(String number) {
    assertThat(submit("by-arguments/shop", "{\"a\":1}").statusCode()).isEqualTo(200);
    assertThat(submit("by-arguments/shop", "{\"a\":" + number + "}").statusCode()).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"1e400", "-1e400", "1e-400", "123456789012345678901234567890"})
  void aNumberOfAnySizeIsASubmissionToo(String number) {
    String huge = "{\"a\":" + number + "}";
    assertThat(submit("by-arguments/shop", huge).statusCode()).isEqualTo(200);
    assertThat(submit("by-arguments/shop", "{\"a\":1}").statusCode()).isEqualTo(200);
    assertThat(submit("by-arguments/shop", huge).statusCode()).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"NaN", "Infinity", "-Infinity"})
  void aNumberThatJsonDoesNotKnowIsASubmissionToo(String value) {
    assertThat(submit("number?value=" + value, "{}").statusCode()).isEqualTo(200);
    assertThat(submit("number?value=0", "{}").statusCode()).isEqualTo(200);
    assertThat(submit("number?value=" + value, "{}").statusCode()).isEqualTo(409);
  }

  @Test
  void aLimitIsReportedBeforeADuplicate() {
    submit("limit-first", "{}");

    HttpResponse<String> denied = submit("limit-first", "{}");
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(field(denied, "Retry-After")).as("both must pass").matches("3600|35\\d\\d");
  }

  @Test
  void asManyAreAcceptedAsTheRuleAllows() {
    List<Integer> answers =
        List.of(
            submit("twice", "{}").statusCode(),
            submit("twice", "{}").statusCode(),
            submit("twice", "{}").statusCode());

    assertThat(answers).containsExactly(200, 200, 409);
  }

  @Test
  void aGuardWithoutRulesHasNoLimitFields() {
    HttpResponse<String> accepted = submit("guard-only", "{}");
    HttpResponse<String> duplicate = submit("guard-only", "{}");

    assertThat(accepted.statusCode()).isEqualTo(200);
    assertThat(duplicate.statusCode()).isEqualTo(409);
    assertThat(List.of(accepted, duplicate))
        .allSatisfy(
            answer ->
                assertThat(answer.headers().map())
                    .doesNotContainKeys("ratelimit", "ratelimit-policy"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"pending-by-caller", "pending-by-arguments"})
  void oneOfTwoAtTheSameTimeIsAccepted(String route) {
    CompletableFuture<HttpResponse<String>> one = submitAsync(route);
    CompletableFuture<HttpResponse<String>> other = submitAsync(route);

    HttpResponse<?> denied = (HttpResponse<?>) CompletableFuture.anyOf(one, other).join();
    await().until(() -> pending.calls.size() == 1);
    pending.calls.remove().complete("ok");

    assertThat(denied.statusCode()).isEqualTo(409);
    assertThat(List.of(one.join().statusCode(), other.join().statusCode()))
        .containsExactlyInAnyOrder(200, 409);
    assertThat(List.of(one.join(), other.join()))
        .allSatisfy(
            answer -> assertThat(field(answer, "RateLimit")).startsWith("\"10-per-60s\";r=9;"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"pending-by-caller", "pending-by-arguments"})
  void aLateFailureDoesNotReleaseALaterAcceptance(String route) {
    CompletableFuture<HttpResponse<String>> early = submitAsync(route);
    await().until(() -> pending.calls.size() == 1);
    server.clear(); // as if its time were over
    CompletableFuture<HttpResponse<String>> late = submitAsync(route);
    await().until(() -> pending.calls.size() == 2);

    pending.calls.remove().completeExceptionally(new IllegalStateException("late"));
    assertThat(early.join().statusCode()).isEqualTo(500);
    assertThat(submitAsync(route).join().statusCode()).isEqualTo(409);

    pending.calls.remove().complete("ok");
    assertThat(late.join().statusCode()).isEqualTo(200);
  }

  private HttpResponse<String> submit(String route, String json) {
    return server.post("/submissions/" + route, json);
  }

  private CompletableFuture<HttpResponse<String>> submitAsync(String route) {
    return server.postAsync("/submissions/" + route, ORDER);
  }

  /** Submissions that are accepted once a minute. */
  @Controller("/submissions")
  @Requires(property = "spec.name", value = SubmissionRoutes.SPEC)
  static class SubmissionRoutes {

    /** A submission is known by its caller and its arguments. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        rules = @RateRule(count = 10, time = 60),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 60),
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    @interface OnceByArguments {}

    /** Any submission of a caller. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        rules = @RateRule(count = 10, time = 60),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 60),
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    @interface OnceByCaller {}

    static final String SPEC = "Submissions";

    private static final String OK = "ok";

    private final Pending pending;

    SubmissionRoutes(Pending pending) {
      this.pending = pending;
    }

    /** The calls that wait until a test ends them, in the order in which they came. */
    @Singleton
    @Requires(property = "spec.name", value = SPEC)
    static final class Pending {
      final Queue<CompletableFuture<String>> calls = new ConcurrentLinkedQueue<>();
    }

    @Post("/by-caller")
    @OnceByCaller
    String byCaller(@Body Map<String, Object> order) {
      return OK;
    }

    @Post("/by-arguments/{shop}")
    @OnceByArguments
    String byArguments(@PathVariable String shop, @Body Map<String, Object> order) {
      return OK;
    }

    @Post("/number")
    @OnceByArguments
    String number(@QueryValue double value) {
      return OK;
    }

    @Post("/twice")
    @RateLimiter(
        rules = @RateRule(count = 10, time = 60),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 2, time = 60))
    String twice() {
      return OK;
    }

    @Post("/limit-first")
    @RateLimiter(
        rules = @RateRule(count = 1, time = 60),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 3600))
    String limitFirst() {
      return OK;
    }

    @Post("/guard-only")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 1, time = 60))
    String guardOnly() {
      return OK;
    }

    @Post("/pending-by-caller")
    @OnceByCaller
    CompletionStage<String> pendingByCaller(@Body Map<String, Object> order) {
      return begin();
    }

    @Post("/pending-by-arguments")
    @OnceByArguments
    CompletionStage<String> pendingByArguments(@Body Map<String, Object> order) {
      return begin();
    }

    private CompletableFuture<String> begin() {
      CompletableFuture<String> call = new CompletableFuture<>();
      pending.calls.add(call);
      return call;
    }
  }
}
