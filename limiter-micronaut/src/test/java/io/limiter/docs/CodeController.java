// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.util.concurrent.TimeUnit;

@Controller
class CodeController {

  @Post("/codes")
  @RateRule(count = 1, time = 60) // once a minute
  @RateRule(count = 10, time = 1, timeUnit = TimeUnit.HOURS) // and ten times an hour
  String send() {
    return "sent";
  }
}
