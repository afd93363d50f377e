package example;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class HelloController {

  @Get("/hello")
  @RateRule(count = 3, time = 60)
  String hello() {
    return "Hello";
  }
}
