// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.Micronaut;
import java.util.Map;

/** A service of one controller, with one limited method. */
@Controller(produces = MediaType.TEXT_PLAIN)
@Requires(property = LimitedService.PROPERTY)
class LimitedService {

  static final String PROPERTY = "benchmark.limited-service";

  /** Starts the service. */
  public static void main(String[] arguments) {
    Micronaut.build(arguments).properties(Map.of(PROPERTY, true)).start();
  }

  @Get(ServiceStart.LIMITED)
  @RateRule(count = ServiceStart.CALLS, time = 60)
  String limited() {
    return "limited";
  }

  @Get(ServiceStart.FREE)
  String free() {
    return "free";
  }
}
