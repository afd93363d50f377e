// SPDX-License-Identifier: Apache-2.0
package io.limiter.application;

import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import reactor.core.publisher.Flux;

/**
 * Limited routes of an application, outside of the limiter's packages, which are switched off with
 * it.
 */
@Controller("/off")
@Requires(property = "spec.name", value = "SwitchedOff")
class SwitchedOffController {

  @Get("/by-request")
  @RateRule(count = 1, time = 60)
  String byRequest() {
    return "ok";
  }

  @Get("/verdict")
  @RateRule(count = 1, time = 60)
  String verdict(Verdict verdict) {
    return verdict.outcome() + " by " + verdict.decidedBy();
  }

  @Get("/by-argument")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 60), preventDuplicate = true)
  Flux<String> byArgument(@QueryValue String who) {
    return Flux.just("ok");
  }
}
