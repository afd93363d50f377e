// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;

@Controller("/composed")
class ComposedController {

  @Post("/comments")
  @PreventDuplicate(within = 10)
  String comment(@Body OrderController.Order order) {
    return "posted";
  }

  @Get("/export")
  @ConcurrencyLimit(3)
  String export() {
    return "rows";
  }
}
