// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class QuoteController {

  @Get("/translations")
  @RateRule(
      count = 100_000,
      fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, zone = "Europe/Berlin"))
  String translations() {
    return "translations";
  }
}
