// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.List;

/** Two rules on one method. */
@Controller("/articles")
class ArticleController {

  @SuppressWarnings("limiter") // the second rule never denies: it shows how two are answered
  @Get
  @RateRule(count = 10, time = 60)
  @RateRule(count = 20, time = 120)
  List<String> list() {
    return List.of("Sliding windows", "Token buckets");
  }
}
