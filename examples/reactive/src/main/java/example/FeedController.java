package example;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.MediaType;
import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

@Controller
class FeedController {

  @Get("/quote")
  @RateRule(count = 3, time = 60)
  Mono<String> quote() {
    return Mono.just("42").delayElement(Duration.ofMillis(10));
  }

  /** At most two streams of a client at once. */
  @Get("/feed")
  @Produces(MediaType.TEXT_EVENT_STREAM)
  @ConcurrencyLimit(2)
  Flux<Long> feed() {
    return Flux.interval(Duration.ofMillis(20)).onBackpressureDrop();
  }
}
