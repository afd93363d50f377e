package example;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.Status;
import java.util.List;

@Controller
class OrderController {

  @Introspected // lets the limiter compare orders
  record NewOrder(String item, int amount) {}

  record Order(long number, String item) {}

  /** Ten in a minute for each address, decided before the route runs. */
  @Get("/items")
  @RateRule(count = 10, time = 60)
  List<String> items() {
    return List.of("tea", "coffee");
  }

  /** Five in ten seconds, and not the same body twice within five. */
  @Post("/orders")
  @Status(HttpStatus.CREATED)
  @RateLimiter(rules = @RateRule(count = 5, time = 10), preventDuplicate = true)
  Order place(@Body NewOrder order) {
    return new Order(1, order.item());
  }
}
