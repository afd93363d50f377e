// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import reactor.core.publisher.Mono;

/** Routes that count addresses; two calls a minute for each. */
@Controller("/addresses")
@Requires(property = "spec.name", value = AddressRoutes.SPEC)
class AddressRoutes {

  static final String SPEC = "Addresses";

  private static final String OK = "ok";

  @Get("/ip")
  @RateRule(count = 2, time = 60)
  String ip() {
    return OK;
  }

  @Get("/ip-mono")
  @RateRule(count = 2, time = 60)
  Mono<String> ipMono() {
    return Mono.just(OK);
  }
}
