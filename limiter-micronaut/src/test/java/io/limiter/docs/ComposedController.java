// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;

@Controller("/composed")
class ComposedController {

  @Post("/codes")
  @SmsCode
  String sendCode(@QueryValue String phone) {
    return "sent";
  }

  @Get("/account")
  @LoginAttempt
  String account() {
    return "account";
  }

  @Post("/orders")
  @NewSubmission
  String place(@Body OrderController.Order order) {
    return "placed";
  }

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
