// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class CountedAnswersController {

  @Get("/translations/{word}")
  @RateLimiter(
      countIf = "#{status == 404 and !word.startsWith('_')}",
      rules = @RateRule(count = 2, time = 60))
  HttpResponse<String> translate(String word) {
    return word.equals("tea") ? HttpResponse.ok("Tee") : HttpResponse.notFound();
  }
}
