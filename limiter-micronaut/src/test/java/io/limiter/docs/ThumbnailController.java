// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class ThumbnailController {

  @Get("/thumbnails")
  @RateRule(count = 20, refill = 5, time = 1, algorithm = Algorithm.TOKEN_BUCKET)
  String thumbnails() {
    return "thumbnails";
  }
}
