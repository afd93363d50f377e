package example;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import jakarta.inject.Singleton;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

@Singleton
class Orders {

  @RateLimiter(
      value = "orders",
      limitType = LimitType.USER_ID,
      rules = {@RateRule(count = 10, time = 60), @RateRule(count = 100, time = 3600)},
      preventDuplicate = true)
  CompletionStage<Order> place(Order order) {
    return CompletableFuture.completedFuture(order);
  }
}
