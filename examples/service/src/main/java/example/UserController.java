package example;

import io.limiter.idempotency.Idempotent;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import java.security.Principal;
import java.util.concurrent.CompletionStage;

/** For users who are logged in. */
@Controller
class UserController {

  private final Orders orders;
  private final Payments payments;
  private final Reports reports;

  UserController(Orders orders, Payments payments, Reports reports) {
    this.orders = orders;
    this.payments = payments;
    this.reports = reports;
  }

  @Get("/me")
  String me(Principal user) {
    return user.getName();
  }

  @Post("/orders")
  CompletionStage<Order> order(@Body Order order) {
    return orders.place(order);
  }

  @Post("/payments")
  @Idempotent(retain = "48h")
  CompletionStage<Payments.Receipt> pay(@Body Payments.Payment payment) {
    return payments.pay(payment);
  }

  @Get("/reports")
  @ConcurrencyLimit(2)
  @RateRule(count = 20, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
  CompletionStage<String> report() {
    return reports.render();
  }
}
