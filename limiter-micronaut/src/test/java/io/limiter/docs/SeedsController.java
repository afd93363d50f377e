// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;

@Controller("/seeds")
class SeedsController {

  // A
  @Post("/forms")
  @RateLimiter(
      rules = {@RateRule(count = 10, time = 60), @RateRule(count = 20, time = 120)},
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 5),
      message = "You submit too often")
  String submit(@Body OrderController.Order form) {
    return "accepted";
  }

  // B
  @Post("/login")
  @RateLimiter(
      subject = "#{user}",
      failedOn = 401,
      rules = @RateRule(count = 3, time = 60, counts = Counts.FAILURES))
  HttpResponse<String> login(
      @QueryValue String user, @QueryValue String password, Verdict verdict) {
    if (!verdict.allowed()) {
      return HttpResponse.ok("show a captcha");
    }
    return password.equals("right")
        ? HttpResponse.ok("welcome")
        : HttpResponse.<String>unauthorized().body("wrong");
  }

  // C
  @Get("/by-the-clock")
  @RateRule(count = 10, time = 1, fixedWindow = @FixedWindow(aligned = true))
  String byTheClock() {
    return "one counter for each second";
  }

  @Get("/from-the-first-call")
  @RateRule(count = 10, time = 1, algorithm = Algorithm.FIXED_WINDOW)
  String fromTheFirstCall() {
    return "one counter from the first call on";
  }

  // D
  @Get("/tokens")
  @RateLimiter(
      rules = @RateRule(count = 20, time = 1, tokenBucket = @TokenBucket(refill = 5)),
      ban = @Ban(violations = 1, within = 1, time = 600))
  String tokens() {
    return "a token taken";
  }

  @Get("/queue")
  @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10, maxWait = 10, fair = true))
  String queue() {
    return "your turn";
  }

  // E
  @Get("/pages/counted")
  @RateRule(
      count = 100,
      time = 60,
      algorithm = Algorithm.FIXED_WINDOW,
      limitType = LimitType.USER_ID)
  String countedPage() {
    return "page";
  }

  @Get("/pages/exact")
  @RateRule(count = 100, time = 60, limitType = LimitType.USER_ID)
  String exactPage() {
    return "page";
  }
}
