// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Everybody together has one call of each method running. */
@Singleton
@Requires(property = "spec.name", value = EndingBean.SPEC)
class EndingBean {

  static final String SPEC = "EndingBean";

  final AtomicInteger entered = new AtomicInteger();

  @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
  String sync(Supplier<String> code) {
    return code.get();
  }

  @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> stage(CompletionStage<String> result) {
    return result;
  }

  @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
  Mono<String> mono(Mono<String> result) {
    return result;
  }

  @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
  Flux<Integer> flux(Flux<Integer> result) {
    return result;
  }

  @RateRule(
      count = 1,
      time = 1,
      limitType = LimitType.GLOBAL,
      algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> forgotten(CompletionStage<String> result) {
    return result;
  }

  @RateRule(count = 1, limitType = LimitType.GLOBAL, counts = Counts.FAILURES)
  Mono<String> failures(Mono<String> result) {
    return result;
  }

  @RateLimiter(
      limitType = LimitType.GLOBAL,
      failedOn = 401,
      rules = @RateRule(count = 1, counts = Counts.FAILURES))
  String denials() {
    throw new IllegalStateException("failed");
  }

  @RateLimiter(
      limitType = LimitType.GLOBAL,
      cost = "4",
      resultCost = Rows.class,
      rules = @RateRule(count = 10))
  int rows(int n) {
    entered.incrementAndGet();
    if (n < 0) {
      throw new IllegalStateException("failed");
    }
    return n;
  }

  @Singleton
  @Requires(property = "spec.name", value = EndingBean.SPEC)
  static class Rows implements ResultCost {
    @Override
    public int of(Object result) {
      return (Integer) result;
    }
  }
}
