package example;

import io.limiter.client.ObeyRateLimits;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.annotation.Client;

final class Clients {

  private Clients() {}

  /** Fails with 429 once the server denies it. */
  @Client("/")
  interface Careless extends QuoteApi {}

  /** Waits as long as the server asks it to. */
  @ObeyRateLimits
  @Client("/")
  interface Obedient extends QuoteApi {}

  /** Never calls more often than the contract with the partner allows, and waits if asked to. */
  @ObeyRateLimits
  @Client("/")
  interface Contracted {

    @Get("/quotes")
    @RateRule(count = 2, time = 60, limitType = LimitType.GLOBAL)
    String quote();
  }
}
