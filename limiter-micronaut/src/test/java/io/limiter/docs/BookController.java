// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;

/** Calls a limited bean, which is not a route. */
@Controller
class BookController {

  private final Library library;

  BookController(Library library) {
    this.library = library;
  }

  @Singleton
  static class Library {

    @RateRule(count = 10, time = 60, limitType = LimitType.GLOBAL)
    String find(String author) {
      return "found";
    }
  }

  @Get("/books")
  @ExecuteOn(TaskExecutors.BLOCKING)
  String books(@QueryValue String author) {
    return library.find(author);
  }
}
