// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.Limiter;
import io.limiter.core.Verdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.http.RateLimitFields;
import io.limiter.micronaut.plan.LimitPolicies;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import java.util.concurrent.CompletionStage;

/** A quota, and the routes that show what is left of it. */
@Controller("/completions")
class CompletionController {

  private final Limiter limiter;
  private final LimitPolicies policies;
  private final RateLimitFields fields;

  CompletionController(Limiter limiter, LimitPolicies policies, RateLimitFields fields) {
    this.limiter = limiter;
    this.policies = policies;
    this.fields = fields;
  }

  @Get
  @RateLimiter(
      value = "completions",
      header = "X-Api-Key",
      warnAt = 0.8,
      rules = {
        @RateRule(count = 100, time = 60),
        @RateRule(
            count = 5,
            fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, zone = "Europe/Berlin"))
      })
  String complete() {
    return "a text";
  }

  @Get("/quota")
  CompletionStage<HttpResponse<?>> quota(@Header("X-Api-Key") String key) {
    return limiter
        .peek(policies.get("completions").forHeader("X-Api-Key", key))
        .thenApply(verdict -> withFields(verdict, HttpResponse.noContent()));
  }

  private HttpResponse<?> withFields(Verdict verdict, MutableHttpResponse<?> response) {
    fields.write(verdict, response); // the bean RateLimitFields
    return response;
  }
}
