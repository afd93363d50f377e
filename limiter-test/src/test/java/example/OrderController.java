// SPDX-License-Identifier: Apache-2.0
package example;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller("/orders")
class OrderController {

  @Get
  @RateRule(count = 2, time = 60)
  String list() {
    return "tea";
  }
}
