// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** What recipes.md shows for coding assistants. */
@Controller("/assistants")
class AssistantController {

  private final Limiter limiter;

  AssistantController(Limiter limiter) {
    this.limiter = limiter;
  }

  @Get("/plain")
  @RateRule(count = 10, time = 60)
  @RateRule(count = 100, time = 3600)
  String plain() {
    return "plain";
  }

  @Get("/user")
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 10, time = 60))
  String user() {
    return "user";
  }

  @Get("/key")
  @RateLimiter(
      header = "X-Api-Key",
      anonymous = Anonymous.REJECT,
      rules = {
        @RateRule(count = 100, time = 60),
        @RateRule(count = 1_000, time = 60, limitType = LimitType.IP)
      })
  String key() {
    return "key";
  }

  @Post("/phone")
  @RateRule(count = 1, time = 60, subject = "#{phone}")
  String phone(@QueryValue String phone) {
    return phone;
  }

  @Get("/all")
  @RateRule(
      count = 20,
      time = 1,
      limitType = LimitType.GLOBAL,
      tokenBucket = @TokenBucket(refill = 5))
  String all() {
    return "all";
  }

  @Post("/once")
  @PreventDuplicate(within = 10)
  String once(@Body Map<String, String> form) {
    return "once";
  }

  @Get("/in-flight")
  @ConcurrencyLimit(3)
  String inFlight() {
    return "in flight";
  }

  @Post("/login")
  @RateLimiter(failedOn = 401, rules = @RateRule(count = 5, time = 900, counts = Counts.FAILURES))
  HttpResponse<?> login(@QueryValue String password) {
    return password.equals("right") ? HttpResponse.ok() : HttpResponse.unauthorized();
  }

  static final Policy JOBS = Policy.of("jobs", SlidingWindowLogRule.of(5, Duration.ofMinutes(1)));

  CompletionStage<Boolean> mayRun(String job) {
    return limiter
        .acquire(LimitRequest.of(JOBS, new Subject("job", job)))
        .thenApply(Verdict::allowed);
  }
}
