// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import java.net.http.HttpResponse;

/** The expected answers of a route. Figures of other answers would be wrong. */
enum Expected {
  /** 200, without limit headers. */
  UNLIMITED(200, false),
  /** 200, with the limit headers. */
  ADMITTED(200, true),
  /** 429, with the same fields, the time to wait and a body. */
  DENIED(429, true);

  private final int status;
  private final boolean limited;

  Expected(int status, boolean limited) {
    this.status = status;
    this.limited = limited;
  }

  /**
   * @throws IllegalStateException if this answer is not one of them
   */
  void check(HttpResponse<String> answer) {
    boolean hasFields =
        answer.headers().firstValue("RateLimit").isPresent()
            && answer.headers().firstValue("RateLimit-Policy").isPresent();
    boolean denied =
        answer.headers().firstValue("Retry-After").isPresent()
            && answer.body().contains("\"message\"");
    if (answer.statusCode() != status || hasFields != limited || denied != (this == DENIED)) {
      throw new IllegalStateException(
          "%s should have answered %s, and has answered %s with %s and '%s'"
              .formatted(
                  answer.uri(), this, answer.statusCode(), answer.headers().map(), answer.body()));
    }
  }

  /**
   * @throws IllegalStateException if some answers were not of this status, or missing
   */
  void check(String route, LoadResult load) {
    long others = this == DENIED ? load.answers() - load.denied() : load.denied();
    // The first call of an hour passes: one in Redis, and one in memory if Redis is late once.
    long allowed = this == DENIED ? 1 : 0;
    if (load.errors() > 0 || load.answers() == 0 || others > allowed) {
      throw new IllegalStateException(
          "%s should have answered all with %s: of %s answers %s had another status, and %s are missing"
              .formatted(route, status, load.answers(), others, load.errors()));
    }
  }
}
