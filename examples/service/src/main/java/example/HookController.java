package example;

import io.limiter.idempotency.Idempotent;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;

/** For events of partners, who sign them. */
@Controller("/public/hooks")
class HookController {

  @Post("/{partner}")
  @Idempotent(subject = "#{partner}", retain = "1h")
  @RateLimiter(
      value = "hooks",
      subject = "#{partner}",
      rules = {
        @RateRule(count = 50, time = 1),
        @RateRule(count = 500, time = 1, limitType = LimitType.GLOBAL)
      })
  HttpResponse<?> receive(String partner, @Body String event) {
    return HttpResponse.accepted();
  }
}
