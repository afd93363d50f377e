package example;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;

@Controller
class QuoteController implements QuoteApi {

  @Override
  @RateRule(count = 3, time = 1)
  public String quote() {
    return "42";
  }
}
