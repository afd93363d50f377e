// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class ArticleController {

  @Get("/articles")
  @RateRule(count = 10, time = 60)
  @RateRule(count = 100, time = 3600)
  String articles() {
    return "articles";
  }
}
