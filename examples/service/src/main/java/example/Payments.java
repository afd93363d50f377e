package example;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.serde.annotation.Serdeable;
import jakarta.inject.Singleton;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

@Singleton
class Payments {

  @Serdeable
  record Payment(int amount) {}

  @Serdeable
  record Receipt(String number, int amount) {}

  @RateLimiter(
      value = "payments",
      limitType = LimitType.USER_ID,
      rules = @RateRule(count = 30, time = 60))
  CompletionStage<Receipt> pay(Payment payment) {
    return CompletableFuture.completedFuture(
        new Receipt(UUID.randomUUID().toString(), payment.amount()));
  }
}
