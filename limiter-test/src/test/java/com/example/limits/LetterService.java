// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;

/** A limited bean behind a route. */
@Singleton
class LetterService {

  @RateLimiter(subject = "#{to}", rules = @RateRule(count = 2, time = 60))
  public String send(String to) {
    throw new IllegalStateException("No test sends letters");
  }

  /** Its route. */
  @Controller
  static class LetterController {

    private final LetterService letters;

    LetterController(LetterService letters) {
      this.letters = letters;
    }

    @Post("/letters")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String send() {
      return letters.send("ann");
    }
  }
}
