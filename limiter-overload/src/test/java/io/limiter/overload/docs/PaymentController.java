// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload.docs;

import io.limiter.overload.Criticality;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;

@Controller("/payments")
@Criticality(Criticality.Level.CRITICAL)
class PaymentController {

  @Post
  String pay() {
    return "paid";
  }

  @Get("/statistics")
  @Criticality(Criticality.Level.BACKGROUND)
  String statistics() {
    return "many";
  }
}
