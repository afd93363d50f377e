// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.List;

/** Two rules on one method. */
@Controller("/articles")
class ArticleController {

  @Get
  @RateRule(count = 10, time = 60)
  @RateRule(count = 100, time = 3600)
  List<String> list() {
    return List.of("Sliding windows", "Token buckets");
  }
}
