// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;

@Controller
class PrintController {

  @Post("/prints")
  @RateRule(algorithm = Algorithm.LEAKY_BUCKET, count = 2, time = 1, queue = 10)
  String print() {
    return "printed";
  }
}
