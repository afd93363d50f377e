package example;

import io.limiter.core.Limiter;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.StreamBudget;
import io.limiter.micronaut.annotation.StreamEnd;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.sse.Event;
import java.util.concurrent.CompletionStage;
import reactor.core.publisher.Flux;

/** For programs with an API key. */
@Controller("/api")
@RateLimiter(
    value = "api",
    key = "api",
    resolver = Customers.class,
    rules = @RateRule(count = 60, time = 60))
class ApiController {

  private final Customers customers;
  private final Limiter limiter;
  private final LimitPolicies policies;

  ApiController(Customers customers, Limiter limiter, LimitPolicies policies) {
    this.customers = customers;
    this.limiter = limiter;
    this.policies = policies;
  }

  @Get("/stock")
  String stock() {
    return "tea: 7";
  }

  @Post("/documents")
  @RateLimiter(
      value = "documents",
      resolver = Customers.class,
      cost = "#{pages}",
      warnAt = 0.8,
      rules =
          @RateRule(
              count = 1_000,
              fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, zone = "Europe/Berlin")))
  String translate(@QueryValue int pages) {
    return "translated";
  }

  @Get("/documents/left")
  CompletionStage<Long> left(HttpRequest<?> request) {
    String customer = customers.resolve(request).orElseThrow();
    LimitedPolicy usual = policies.get("documents");
    return customers
        .of(request)
        .thenApply(plan -> plan == null ? usual : usual.inTier(plan))
        .thenCompose(theirs -> limiter.usage(theirs.forResolved(Customers.class, customer)))
        .thenApply(rules -> rules.get(0).left());
  }

  @Post(uri = "/completions", produces = MediaType.TEXT_EVENT_STREAM)
  @RateLimiter(
      value = "tokens",
      resolver = Customers.class,
      cost = "100",
      resultCost = Tokens.class,
      stream = @StreamBudget(end = StreamEnd.CUT),
      rules = @RateRule(count = 5_000, time = 60, algorithm = Algorithm.SLIDING_WINDOW_COUNTER))
  Flux<Event<String>> complete(@QueryValue int words) {
    return Flux.range(0, words).map(i -> Event.of("word ")); // of the model
  }
}
