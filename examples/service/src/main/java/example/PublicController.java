package example;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** For everybody. */
@Controller("/public")
class PublicController {

  private final SmsGateway gateway;

  PublicController(SmsGateway gateway) {
    this.gateway = gateway;
  }

  @Post("/codes")
  @RateLimiter(
      value = "codes",
      subject = "#{phone}",
      rules = {
        @RateRule(count = 1, time = 60),
        @RateRule(count = 10, time = 1, timeUnit = TimeUnit.HOURS),
        @RateRule(count = 20, time = 1, timeUnit = TimeUnit.HOURS, limitType = LimitType.IP),
        @RateRule(count = 500, time = 1, timeUnit = TimeUnit.HOURS, limitType = LimitType.GLOBAL)
      })
  HttpResponse<?> sendCode(@QueryValue String phone) {
    gateway.sendCode(phone);
    return HttpResponse.accepted();
  }

  /** Limited by its path, in application.yml. */
  @Get("/search")
  List<String> search(@QueryValue String text) {
    return List.of(text);
  }
}
