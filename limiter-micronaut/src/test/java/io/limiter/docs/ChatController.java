// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.FadingCounter;
import io.limiter.micronaut.annotation.Custom;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;

@Controller
class ChatController {

  @Post("/chat")
  @RateRule(count = 10, time = 10, custom = @Custom(value = FadingCounter.class, parameters = 2))
  String say() {
    return "sent";
  }
}
