// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;

@Controller
class AccountController {

  @Get("/account")
  @RateLimiter(
      beforeSecurity = true,
      failedOn = 401,
      rules = @RateRule(count = 5, time = 900, counts = Counts.FAILURES))
  String account() {
    return "yours";
  }

  /** Turns away whose password is not "right", as security does. */
  @ServerFilter("/account")
  static class Passwords {

    @RequestFilter
    @Order(39_000)
    @Nullable
    HttpResponse<?> look(HttpRequest<?> request) {
      return request
              .getHeaders()
              .getAuthorization()
              .filter("Basic YW5uOnJpZ2h0"::equals)
              .isPresent()
          ? null
          : HttpResponse.unauthorized();
    }
  }
}
