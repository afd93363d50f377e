// SPDX-License-Identifier: Apache-2.0
package io.limiter.management.docs;

import io.limiter.core.LimitStore;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.store.DelegatingStore;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.redis.LimitStoreFactory;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.ServerFilterPhase;
import io.micronaut.management.endpoint.EndpointSensitivityHandler;
import jakarta.inject.Singleton;

/** The service of the page on operations. */
@Controller
@Requires(property = "spec.name", value = Passcodes.SPEC)
public class Passcodes {

  /** Its {@code spec.name}. */
  public static final String SPEC = "endpoint-docs";

  @Post("/passcodes")
  @RateLimiter(value = "passcodes", rules = @RateRule(count = 3))
  String send() {
    return "sent";
  }

  /** Its clock stands still, so that an answer is the same to the letter each time. */
  @Singleton
  @Replaces(value = LimitStore.class, factory = LimitStoreFactory.class)
  @Requires(property = "spec.name", value = SPEC)
  static class StandingStill extends DelegatingStore {

    StandingStill() {
      super(new MemoryStore(1_000, () -> 0));
    }
  }

  /** Admits everybody to endpoints. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class StandInForSecurity implements Ordered, EndpointSensitivityHandler {

    @Override
    public int getOrder() {
      return ServerFilterPhase.SECURITY.order();
    }
  }
}
