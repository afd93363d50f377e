// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.core.Verdict;
import io.limiter.micronaut.config.HeadersConfiguration;
import io.limiter.micronaut.http.RateLimitFields;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;

/** Adds to each limited response what decided: the store, or the fallback and the reason. */
@Singleton
@Replaces(RateLimitFields.class)
class WhoDecided extends RateLimitFields {

  WhoDecided(HeadersConfiguration configuration) {
    super(configuration);
  }

  @Override
  public void writeIfAbsent(Verdict verdict, MutableHttpResponse<?> response) {
    super.writeIfAbsent(verdict, response);
    String reason = verdict.reason().map(why -> " (" + why + ")").orElse("");
    response.getHeaders().set("X-Decided-By", verdict.decidedBy() + reason);
  }
}
