// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An {@code Idempotency-Key} of another request, where repetitions are denied. */
class ReusedKeyTest {

  private static final String SPEC = "ReusedKeyTest";
  private static final String TEA = "{\"item\":\"tea\"}";
  private static final String COFFEE = "{\"item\":\"coffee\"}";

  @Controller("/reused")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Post("/order")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY))
    String order(@Body String order) {
      if (order.contains("fail")) {
        throw new IllegalStateException("fails");
      }
      return order;
    }

    @Post("/limited")
    @RateLimiter(
        rules = @RateRule(count = 1),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY))
    String limited(@Body String order) {
      return order;
    }
  }

  /** Their limits need the body, so that the guard decides. */
  @Controller("/reused/of-body")
  @Requires(property = "spec.name", value = SPEC)
  static class GuardedRoutes {

    @Post("/order")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY))
    @RateLimiter(subject = "#{order.length()}", rules = @RateRule(count = 10))
    String order(@Body String order) {
      if (order.contains("fail")) {
        throw new IllegalStateException("fails");
      }
      return order;
    }

    /** The limit of all calls is decided before the body is read. */
    @Post("/early")
    @RateLimiter(limitType = LimitType.GLOBAL, early = true, rules = @RateRule(count = 3))
    @RateLimiter(
        subject = "#{order.length() > 0 ? 'all' : ''}",
        rules = @RateRule(count = 10),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY))
    String early(@Body String order) {
      return order;
    }

    @Post("/limited")
    @RateLimiter(
        subject = "#{order == null ? '' : 'all'}",
        rules = @RateRule(count = 1),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY))
    String limited(@Body String order) {
      return order;
    }
  }

  private final String key = UUID.randomUUID().toString();

  private HttpService start(boolean redis, Object... others) {
    Map<String, Object> settings = HttpService.settings(others);
    if (redis) {
      settings.put("redis.uri", RedisFixture.uri());
      settings.put("limiter.redis.key-prefix", key.substring(0, 8) + ":");
      settings.put("limiter.redis.deadline", "5s");
    }
    return HttpService.start(SPEC, settings);
  }

  private static int order(HttpService service, String path, String key, String body) {
    return order(service, null, path, key, body);
  }

  private static int order(
      HttpService service, @Nullable String of, String path, String key, String body) {
    return service
        .post("/reused/" + (of == null ? "" : of) + path, body, "Idempotency-Key", key)
        .statusCode();
  }

  @ParameterizedTest
  @CsvSource({"true, ", "false, ", "true, of-body/", "false, of-body/"})
  void isRejectedWithAnotherBodyOrQuery(boolean redis, @Nullable String of) {
    try (HttpService service = start(redis)) {
      assertThat(order(service, of, "order", key, TEA)).isEqualTo(200);
      assertThat(order(service, of, "order", key, TEA)).isEqualTo(409);
      assertThat(order(service, of, "order", key, COFFEE)).isEqualTo(422);
      assertThat(order(service, of, "order?gift=true", key, TEA)).isEqualTo(422);
      assertThat(order(service, of, "order", key, TEA)).isEqualTo(409);
      assertThat(order(service, of, "order", key + "-2", COFFEE)).isEqualTo(200);
    }
  }

  @ParameterizedTest
  @CsvSource({"true, ", "false, ", "true, of-body/", "false, of-body/"})
  void isFreeForAnyRequestThatALimitHadDenied(boolean redis, @Nullable String of) {
    try (HttpService service = start(redis)) {
      assertThat(order(service, of, "limited", key + "-1", TEA)).isEqualTo(200);
      assertThat(order(service, of, "limited", key, TEA)).isEqualTo(429);
      assertThat(order(service, of, "limited", key, COFFEE)).isEqualTo(429);
      assertThat(order(service, of, "limited", key + "-1", COFFEE)).isEqualTo(422);
    }
  }

  /** After a failure the same request may be repeated, with its key; another one needs its own. */
  @ParameterizedTest
  @CsvSource({"true, ", "false, ", "true, of-body/", "false, of-body/"})
  void isRejectedAfterAFailureToo(boolean redis, @Nullable String of) {
    try (HttpService service = start(redis)) {
      assertThat(order(service, of, "order", key, "{\"item\":\"fail\"}")).isEqualTo(500);
      assertThat(order(service, of, "order", key, "{\"item\":\"fail\"}")).isEqualTo(500);
      assertThat(order(service, of, "order", key, TEA)).isEqualTo(422);
    }
  }

  @ParameterizedTest
  @CsvSource({"true, ", "false, ", "true, of-body/", "false, of-body/"})
  void isADuplicateIfRequestsAreNotCompared(boolean redis, @Nullable String of) {
    try (HttpService service = start(redis, "limiter.idempotency.compare", false)) {
      assertThat(order(service, of, "order", key, TEA)).isEqualTo(200);
      assertThat(order(service, of, "order", key, COFFEE)).isEqualTo(409);
    }
  }

  /** What the early limit has taken from it is given back. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isChargedNothingWhereAPartIsDecidedEarly(boolean redis) {
    try (HttpService service = start(redis)) {
      assertThat(order(service, "of-body/early", key, TEA)).isEqualTo(200);
      for (int i = 0; i < 5; i++) {
        assertThat(order(service, "of-body/early", key, COFFEE)).isEqualTo(422);
      }
      assertThat(order(service, "of-body/early", key + "-2", COFFEE)).isEqualTo(200);
      assertThat(order(service, "of-body/early", key + "-3", TEA)).isEqualTo(200);
      assertThat(order(service, "of-body/early", key, COFFEE)).isEqualTo(429);
    }
  }

  @Test
  void aMissingOrInvalidKeyIsRejectedAsBefore() {
    try (HttpService service = start(true)) {
      assertThat(order(service, "order", "\"half", TEA)).isEqualTo(400);
      assertThat(service.post("/reused/order", TEA).statusCode()).isEqualTo(400);
    }
  }

  /** The duplicate guard applies to exempt callers. */
  @Test
  void isRejectedForExemptCallersToo() {
    try (HttpService service =
        start(true, "limiter.exempt.addresses", List.of("127.0.0.1", "::1"))) {
      assertThat(order(service, "limited", key, TEA)).isEqualTo(200);
      assertThat(order(service, "limited", key + "-2", TEA)).isEqualTo(200);
      assertThat(order(service, "limited", key, COFFEE)).isEqualTo(422);
    }
  }

  /** Such bodies are not read before the decision. */
  @Test
  void isADuplicateOfALongBody() {
    try (HttpService service = start(true, "limiter.idempotency.max-body", 10)) {
      assertThat(order(service, "order", key, TEA)).isEqualTo(200);
      assertThat(order(service, "order", key, COFFEE)).isEqualTo(409);
    }
  }
}
