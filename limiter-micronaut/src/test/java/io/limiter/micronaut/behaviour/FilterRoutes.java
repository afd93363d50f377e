// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.http.GateFilter;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.server.annotation.PreMatching;

/** Limited routes of an application that has filters of its own. */
@Controller("/filtered")
@Requires(property = "spec.name", value = FilterRoutes.SPEC)
class FilterRoutes {

  static final String SPEC = "Filters";
  static final String REJECT = "X-Reject";

  /** Runs before the route is known; then Micronaut asks no filter whether it is enabled. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Early {
    @PreMatching
    @RequestFilter
    void early(HttpRequest<?> request) {
      request.setAttribute("test.early", true);
    }
  }

  /** Runs behind the gate, and answers some requests itself. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Late {
    @RequestFilter
    @Order(GateFilter.ORDER + 100)
    @Nullable
    HttpResponse<?> late(HttpRequest<?> request) {
      return request.getHeaders().contains(REJECT) ? HttpResponse.unauthorized() : null;
    }
  }

  @Get("/unlimited")
  String unlimited() {
    return "ok";
  }

  @Get("/by-request")
  @RateRule(count = 2, time = 60)
  String byRequest() {
    return "ok";
  }

  @Get("/by-argument")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
  String byArgument(@QueryValue String who) {
    return "ok";
  }

  @Post("/submission")
  @RateLimiter(
      rules = @RateRule(count = 5, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  String submission() {
    return "ok";
  }
}
