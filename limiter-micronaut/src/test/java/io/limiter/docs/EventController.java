// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.util.concurrent.TimeUnit;

@Controller
class EventController {

  @Post("/events")
  @RateRule(
      count = 1_000_000,
      time = 1,
      timeUnit = TimeUnit.HOURS,
      algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
  String event() {
    return "noted";
  }
}
