// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;

@Controller
class PrintController {

  @Post("/prints")
  @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10))
  String print() {
    return "printed";
  }
}
