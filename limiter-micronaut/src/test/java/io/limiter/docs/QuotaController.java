// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.serde.annotation.Serdeable;
import java.time.LocalDate;

@Controller
class QuotaController {

  @Serdeable
  record Customer(String id, LocalDate billingDay) {}

  @Post("/documents")
  @RateLimiter(value = "documents", subject = "#{customer.id()}")
  @RateRule(
      count = 100_000,
      fixedWindow =
          @FixedWindow(
              calendar = CalendarPeriod.MONTH,
              zone = "Europe/Berlin",
              anchor = "#{customer.billingDay()}"))
  String translate(@Body Customer customer) {
    return "translated";
  }
}
