// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;

/** Whatever can come into a key, or into what is stored under it. */
@Controller("/stored")
@Requires(property = "spec.name", value = StoredTextRoutes.SPEC)
class StoredTextRoutes {

  static final String SPEC = "StoredText";

  private static final String OK = "ok";

  @Post("/request")
  @RateLimiter(
      value = "policyOfSecrets",
      key = "limitOfSecrets",
      header = "X-Api-Key",
      rules = {
        @RateRule(count = 100, name = "ruleOfSecrets"),
        @RateRule(count = 200, limitType = LimitType.USER_ID),
        @RateRule(count = 300, limitType = LimitType.IP),
        @RateRule(count = 400, limitType = LimitType.GLOBAL)
      },
      preventDuplicate = true,
      duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY))
  String request() {
    return OK;
  }

  @Post("/resolved")
  @RateLimiter(resolver = Owner.class, rules = @RateRule, preventDuplicate = true)
  String resolved() {
    return OK;
  }

  @Post("/argument")
  @RateLimiter(
      subject = "#{phone}",
      rules = @RateRule,
      preventDuplicate = true,
      duplicate = @Duplicate(key = "#{note}"))
  String argument(@QueryValue String phone, @QueryValue String note) {
    return OK;
  }

  @Post("/arguments")
  @RateLimiter(
      limitType = LimitType.USER_ID,
      rules = @RateRule,
      preventDuplicate = true,
      duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
  String arguments(@QueryValue String phone, @Body Map<String, Object> order) {
    return OK;
  }

  /** What these expressions call throws exceptions whose messages quote what it was given. */
  @Post("/mistaken/subject")
  @RateLimiter(subject = "#{T(java.lang.Integer).parseInt(phone)}", rules = @RateRule)
  String mistakenSubject(@QueryValue String phone) {
    return OK;
  }

  @Post("/mistaken/cost")
  @RateLimiter(cost = "#{T(java.lang.Integer).parseInt(phone)}", rules = @RateRule)
  String mistakenCost(@QueryValue String phone) {
    return OK;
  }

  @Post("/mistaken/text-cost")
  @RateLimiter(cost = "#{order.get('item')}", rules = @RateRule)
  String mistakenTextCost(@Body Map<String, Object> order) {
    return OK;
  }

  @Post("/mistaken/key")
  @RateLimiter(
      preventDuplicate = true,
      duplicate = @Duplicate(key = "#{T(java.util.UUID).fromString(phone)}"))
  String mistakenKey(@QueryValue String phone) {
    return OK;
  }

  @Post("/mistaken/structure")
  @RateLimiter(subject = "#{order}", rules = @RateRule)
  String mistakenStructure(@Body Map<String, Object> order) {
    return OK;
  }

  /** The application may throw it too. */
  @Post("/mistaken/thrown")
  @RateLimiter(rules = @RateRule(count = 100))
  String mistakenThrown(@QueryValue String phone) {
    throw new MissingSubjectException("no subject\r\n\u2028" + "long ".repeat(10_000) + phone);
  }

  /** The header names the owner. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Owner implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return request.getHeaders().get("X-Owner", String.class);
    }
  }
}
