// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

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
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Users' submissions, distinguished in every supported way. */
@Controller("/same-submission")
@Requires(property = "spec.name", value = SameSubmissionRoutes.SPEC)
class SameSubmissionRoutes {

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
