// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/** Limited without HTTP. */
@Singleton
class CodeService {

  private final Limiter limiter;

  CodeService(Limiter limiter) {
    this.limiter = limiter;
  }

  @RateLimiter(value = "code", subject = "#{phone}", rules = @RateRule(count = 1, time = 60))
  void send(String phone) {}

  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  CompletionStage<String> later() {
    return CompletableFuture.completedFuture("sent");
  }

  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  Publisher<String> many() {
    return Flux.just("one", "two");
  }

  @RateLimiter(
      value = "once",
      subject = "#{phone}",
      rules = @RateRule(count = 1, time = 1),
      ban = @Ban(violations = 2, within = 10, time = 30))
  void once(String phone) {}

  @RateLimiter(limitType = LimitType.GLOBAL, preventDuplicate = true)
  void submit(String item) {}

  Verdict acquire() {
    Policy policy = Policy.of("failures", SlidingWindowLogRule.of(2, Duration.ofMinutes(1)));
    return limiter
        .acquire(LimitRequest.of(policy, new Subject("user", "ann")))
        .toCompletableFuture()
        .join();
  }
}
