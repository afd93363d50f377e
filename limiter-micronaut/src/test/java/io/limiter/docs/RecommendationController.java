// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class RecommendationController {

  @Get("/recommendations")
  @RateRule(count = 2, time = 60)
  String recommend(Verdict verdict) {
    return verdict.allowed() ? "made for you" : "what everybody likes";
  }
}
