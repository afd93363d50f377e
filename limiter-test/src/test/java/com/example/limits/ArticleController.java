// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import java.util.List;

/** The routes of a service whose limits are tested. */
@Controller
class ArticleController {

  @Get("/articles")
  @RateRule(count = 10, time = 60)
  List<String> list() {
    return List.of("Sliding windows", "Token buckets");
  }

  @Get("/open")
  String open() {
    return "open";
  }

  @Post("/login")
  @RateRule(count = 3, time = 60)
  HttpResponse<?> login() {
    return HttpResponse.unauthorized();
  }

  @Get("/broken")
  @RateRule(count = 3, time = 60)
  String broken() {
    throw new IllegalStateException("out of paper");
  }

  @Get("/teapot")
  @RateLimiter(value = "tea", status = 418, rules = @RateRule(count = 1, time = 1))
  String teapot() {
    return "tea";
  }

  @Get("/queue")
  @RateRule(count = 1_000, time = 1, leakyBucket = @LeakyBucket(queue = 2, maxWait = 1))
  String queue() {
    return "your turn";
  }

  @Get("/daily")
  @RateLimiter(
      rules = @RateRule(count = 2, time = 86_400, fixedWindow = @FixedWindow(aligned = true)))
  String daily() {
    return "news";
  }
}
