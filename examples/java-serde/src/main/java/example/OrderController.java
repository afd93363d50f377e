package example;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.Status;
import io.micronaut.serde.annotation.Serdeable;
import java.util.List;
import java.util.concurrent.TimeUnit;

@Controller
class OrderController {

  @Serdeable
  record NewOrder(String item, int amount) {}

  @Serdeable
  record Order(long number, String item) {}

  /** Ten in a minute for each address. */
  @Get("/items")
  @RateRule(count = 10, time = 60)
  List<String> items() {
    return List.of("tea", "coffee");
  }

  /** Five in ten seconds, and not the same twice within five. */
  @Post("/orders")
  @Status(HttpStatus.CREATED)
  @RateLimiter(rules = @RateRule(count = 5, time = 10), preventDuplicate = true)
  Order place(@Body NewOrder order) {
    return new Order(1, order.item());
  }

  /** One in a minute and ten in an hour for each phone number. */
  @Post("/codes")
  @RateLimiter(
      subject = "#{phone}",
      rules = {
        @RateRule(count = 1, time = 60),
        @RateRule(count = 10, time = 1, timeUnit = TimeUnit.HOURS)
      },
      message = "A code was sent a moment ago")
  String sendCode(@QueryValue String phone) {
    return "sent";
  }
}
