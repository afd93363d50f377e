// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class TenantController {

  @Get("/tenants")
  @RateLimiter(resolver = Tenant.class, rules = @RateRule(count = 2, time = 1))
  String tenants() {
    return "yours";
  }
}
