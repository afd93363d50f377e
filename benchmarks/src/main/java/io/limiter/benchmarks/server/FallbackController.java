// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.core.Fallback;
import io.limiter.core.outage.FallbackCounts;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.stream.Stream;

/**
 * Returns how many decisions memory has taken since the start because Redis was too late: those
 * would distort the figures.
 */
@Controller(produces = MediaType.TEXT_PLAIN)
class FallbackController {

  private final FallbackCounts counts;

  FallbackController(FallbackCounts counts) {
    this.counts = counts;
  }

  @Get("/fallbacks")
  String fallbacks() {
    return Long.toString(Stream.of(Fallback.values()).mapToLong(counts::of).sum());
  }
}
