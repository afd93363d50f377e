// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.retry.annotation.Retryable;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** What the pages for those who come from elsewhere show. */
@Controller("/moved")
class MigrationController {

  private final Limiter limiter;

  MigrationController(Limiter limiter) {
    this.limiter = limiter;
  }

  // Bucket4j
  @Get("/search")
  @RateRule(count = 20, time = 1, tokenBucket = @TokenBucket(refill = 5))
  @RateRule(count = 1_000, time = 3600)
  String search() {
    return "found";
  }

  static final Policy SEARCHES =
      Policy.of("searches", TokenBucketRule.of(20, 5, Duration.ofSeconds(1)));

  CompletionStage<Verdict> tryConsume(String user) {
    return limiter.acquire(LimitRequest.of(SEARCHES, new Subject("user", user)));
  }

  // The starter
  @Get("/catalogue")
  String catalogue() {
    return "tea";
  }

  // Resilience4j
  @Get("/quotes")
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 10, time = 1))
  String quotes() {
    return "quoted";
  }

  @Get("/five")
  @Retryable(attempts = "2", includes = IllegalStateException.class)
  @RateRule(count = 10, time = 1, limitType = LimitType.GLOBAL)
  @RateRule(count = 2, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> five() {
    return CompletableFuture.completedFuture("quoted");
  }

  // RateLimitJ
  @Get("/calls")
  @RateRule(count = 10, time = 1)
  @RateRule(count = 240, time = 3600)
  String calls() {
    return "called";
  }

  // express-rate-limit
  @Get("/pages")
  @RateRule(count = 100, time = 900, algorithm = Algorithm.FIXED_WINDOW)
  String page() {
    return "page";
  }
}
