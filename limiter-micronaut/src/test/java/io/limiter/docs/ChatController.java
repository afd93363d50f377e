// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;

@Controller
class ChatController {

  @Post("/chat")
  @RateRule(count = 3, time = 30, custom = Pause.class) // three, then half a minute of silence
  String say() {
    return "said";
  }
}
