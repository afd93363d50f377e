// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A controller whose routes an interface declares. */
class InheritedRoutesTest {

  private static final String SPEC = "InheritedRoutesTest";

  private final Plans plans = Plans.of(SPEC);

  @AfterEach
  void close() {
    plans.close();
  }

  @Test
  void routesDeclaredInAnInterfaceAreLimitedByAllThatHolds() {
    assertThat(plans.logs(Shop.class, "list"))
        .containsExactly("limitType = IP: 1-per-60s, 2-per-60s, 3-per-60s");
    assertThat(plans.logs(Shop.class, "buy"))
        .containsExactly("limitType = IP: 2-per-60s, 3-per-60s");
    assertThat(plans.logs(Shop.class, "byDefault"))
        .containsExactly("limitType = IP: 2-per-60s, 3-per-60s");
    assertThat(plans.find(Shop.class, "answer")).isEmpty();
    assertThat(plans.logs(Shop.class, "helper")).containsExactly("limitType = IP: 4-per-60s");
  }

  @RateRule(count = 3)
  interface Routes {
    @Get("/list")
    @RateRule(count = 1)
    String list();

    @Get("/buy")
    String buy();

    @Get("/default")
    default String byDefault() {
      return "ok";
    }

    @Error
    default String answer(IllegalStateException error) {
      return "failed";
    }

    @RateRule(count = 4)
    String helper();
  }

  @Controller("/inherited")
  @Requires(property = "spec.name", value = SPEC)
  @RateRule(count = 2)
  static class Shop implements Routes {
    @Override
    public String list() {
      return "ok";
    }

    @Override
    public String buy() {
      return "ok";
    }

    @Override
    public String helper() {
      return "ok";
    }
  }
}
