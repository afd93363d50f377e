// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.Post;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** What recipes.md shows. */
@Controller("/recipes")
class RecipesController {

  @Get("/account")
  @RateLimiter(
      beforeSecurity = true,
      rules = @RateRule(count = 5, time = 60, counts = Counts.FAILURES))
  String account() {
    return "yours";
  }

  @Get("/stock")
  @RateLimiter(
      header = "X-Api-Key",
      anonymous = Anonymous.REJECT,
      rules = {
        @RateRule(count = 100, time = 60),
        @RateRule(count = 1_000, time = 60, limitType = LimitType.IP)
      })
  List<String> stock() {
    return List.of("tea");
  }

  @Post("/exports")
  @ConcurrencyLimit(2)
  @RateRule(
      count = 10,
      time = 60,
      limitType = LimitType.GLOBAL,
      leakyBucket = @LeakyBucket(queue = 20))
  HttpResponse<?> export() {
    return HttpResponse.accepted();
  }

  @Post(value = "/uploads", consumes = MediaType.ALL)
  @RateLimiter(
      cost = "#{length / 1024 + 1}",
      rules = @RateRule(count = 10_000, time = 1, timeUnit = TimeUnit.HOURS))
  HttpResponse<?> upload(@Header("Content-Length") long length, @Body byte[] file) {
    return HttpResponse.accepted();
  }
}
