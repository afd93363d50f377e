// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class SearchController {

  @Get("/search")
  @RateRule(count = 10, time = 60) // for each caller
  @RateRule(count = 1000, time = 1, limitType = LimitType.GLOBAL) // for everybody together
  String search() {
    return "found";
  }
}
