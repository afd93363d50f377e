// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class ThumbnailController {

  @Get("/thumbnails")
  @RateRule(count = 20, tokenBucket = @TokenBucket(refill = 5), time = 1)
  String thumbnails() {
    return "thumbnails";
  }
}
