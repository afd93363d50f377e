// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import jakarta.inject.Singleton;
import java.util.Optional;

/** Limits that cannot identify every caller: two calls a minute, unless stated otherwise. */
@Controller("/anonymous")
@Requires(property = "spec.name", value = AnonymousRoutes.SPEC)
class AnonymousRoutes {

  static final String SPEC = "Anonymous";

  private static final String OK = "ok";

  @Get("/user")
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 2, time = 60))
  String user() {
    return OK;
  }

  @Get("/header")
  @RateLimiter(header = "X-Api-Key", rules = @RateRule(count = 2, time = 60))
  String header() {
    return OK;
  }

  @Get("/resolver")
  @RateLimiter(resolver = Tenant.class, rules = @RateRule(count = 2, time = 60))
  String resolver() {
    return OK;
  }

  @Get("/user/by-address")
  @RateLimiter(
      limitType = LimitType.USER_ID,
      anonymous = Anonymous.ADDRESS,
      rules = @RateRule(count = 2, time = 60))
  String userByAddress() {
    return OK;
  }

  @Get("/user/denied")
  @RateLimiter(
      limitType = LimitType.USER_ID,
      anonymous = Anonymous.REJECT,
      rules = {@RateRule(count = 2, time = 60, limitType = LimitType.GLOBAL), @RateRule})
  String userDenied() {
    return OK;
  }

  @Get("/header/denied")
  @RateLimiter(
      header = "X-Api-Key",
      anonymous = Anonymous.REJECT,
      rules = {@RateRule(count = 2, time = 60, limitType = LimitType.IP), @RateRule})
  String headerDenied() {
    return OK;
  }

  @Get("/resolver/denied")
  @RateLimiter(
      resolver = Tenant.class,
      anonymous = Anonymous.REJECT,
      rules = @RateRule(count = 2, time = 60))
  String resolverDenied() {
    return OK;
  }

  /** The stricter of two limits that count one subject. */
  @Get("/user/twice")
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 20, time = 3600))
  @RateLimiter(
      limitType = LimitType.USER_ID,
      anonymous = Anonymous.REJECT,
      rules = @RateRule(count = 2, time = 60))
  String userTwice() {
    return OK;
  }

  @Get("/header/twice")
  @RateLimiter(
      header = "X-Api-Key",
      anonymous = Anonymous.REJECT,
      rules = @RateRule(count = 2, time = 60))
  @RateLimiter(header = "x-api-key", rules = @RateRule(count = 20, time = 3600))
  String headerTwice() {
    return OK;
  }

  @Post("/submission/denied")
  @RateLimiter(
      limitType = LimitType.USER_ID,
      anonymous = Anonymous.REJECT,
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60))
  String submissionDenied() {
    return OK;
  }

  @Get("/submission/optional")
  @RateLimiter(
      limitType = LimitType.USER_ID,
      anonymous = Anonymous.REJECT,
      preventDuplicate = true,
      duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY, requireIdempotencyKey = false))
  String submissionOptional() {
    return OK;
  }

  @Get("/trial")
  @RateLimiter(
      header = "X-Api-Key",
      rules = @RateRule(count = 5, time = 10),
      anonymousRules = @RateRule(count = 2, time = 10))
  String trial() {
    return OK;
  }

  /** Returns no subject. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.empty();
    }
  }
}
