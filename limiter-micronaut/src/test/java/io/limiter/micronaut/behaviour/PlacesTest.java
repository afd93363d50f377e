// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.behaviour.PlaceRoutes.Shop;
import org.junit.jupiter.api.Test;

/** What a caller sees of limits that stand on classes, interfaces and composed annotations. */
class PlacesTest extends WithAndWithoutGate {

  PlacesTest() {
    super(PlaceRoutes.SPEC);
  }

  @Test
  void aClassLimitsEachOfItsRoutesByItself() {
    assertThat(statuses("/shop/list", 3)).containsExactly(200, 200, 429);
    assertThat(statuses("/shop/helped", 3)).containsExactly(200, 200, 429);
  }

  @Test
  void aRuleOfTheRouteAddsToThatOfTheClass() {
    assertThat(field(server.get("/shop/buy"), "RateLimit-Policy"))
        .isEqualTo("\"1-per-60s\";q=1;w=60, \"2-per-60s\";q=2;w=60");
    assertThat(statuses("/shop/buy", 1)).containsExactly(429);
  }

  @Test
  void anExemptRouteIsFree() {
    assertThat(statuses("/shop/status", 5)).containsOnly(200);
    assertThat(server.get("/shop/status").headers().firstValue("RateLimit")).isEmpty();
    assertThat(server.keys().all()).isEmpty();
  }

  /** The failing route is counted, as its response shows; the error route takes nothing more. */
  @Test
  void anErrorRouteIsNotLimitedByItsClass() {
    assertThat(field(server.get("/shop/fail"), "RateLimit")).startsWith("\"2-per-60s\";r=1;");
    assertThat(statuses("/shop/fail", 2)).containsExactly(422, 429);
    assertThat(server.keys().all()).hasSize(1);
  }

  @Test
  void aHelperIsNotLimitedByItsClass() {
    assertThat(field(server.get("/shop/helped"), "RateLimit")).startsWith("\"2-per-60s\";r=1;");
    assertThat(server.keys().all()).hasSize(1);
    Shop shop = server.bean(Shop.class);
    for (int call = 0; call < 5; call++) {
      assertThat(shop.helper()).isEqualTo("ok");
    }
    assertThat(server.keys().all()).hasSize(1);
  }

  @Test
  void aKeyedClassLimitsAllItsRoutesTogether() {
    assertThat(statuses("/keyed/first", 2)).containsExactly(200, 200);
    assertThat(statuses("/keyed/second", 2)).containsExactly(200, 429);
    assertThat(statuses("/keyed/first", 1)).containsExactly(429);
    assertThat(server.keys().all()).hasSize(1);
  }

  @Test
  void aCallThatTheRouteDeniesTakesNothingFromTheKeyOfItsClass() {
    assertThat(statuses("/keyed/own", 3)).containsExactly(200, 429, 429);
    assertThat(statuses("/keyed/first", 3)).containsExactly(200, 200, 429);
  }

  /** One route is decided by the request, another by its arguments: the count is one. */
  @Test
  void aKeyIsSharedByRoutesThatAreDecidedInDifferentPlaces() {
    assertThat(statuses("/keyed/argument/ann", 2)).containsExactly(200, 429);
    assertThat(statuses("/keyed/argument/bob", 1)).containsExactly(200);
    assertThat(statuses("/keyed/first", 2)).containsExactly(200, 429);
    assertThat(statuses("/keyed/argument/cid", 1)).containsExactly(429);
  }

  @Test
  void routesThatAnInterfaceDeclaresAreLimitedByItAndByTheClass() {
    assertThat(field(server.get("/declared/ruled"), "RateLimit-Policy"))
        .isEqualTo("\"1-per-60s\";q=1;w=60, \"2-per-30s\";q=2;w=30, \"3-per-60s\";q=3;w=60");
    assertThat(statuses("/declared/ruled", 1)).containsExactly(429);
    assertThat(statuses("/declared/plain", 3)).containsExactly(200, 200, 429);
    assertThat(statuses("/declared/default", 3)).containsExactly(200, 200, 429);
    assertThat(statuses("/declared/inherited", 3)).containsExactly(200, 200, 429);
  }

  @Test
  void aComposedAnnotationLimitsWhatBearsIt() {
    assertThat(server.get("/composed/key", "X-Api-Key", "a").statusCode()).isEqualTo(200);
    assertThat(server.get("/composed/key", "X-Api-Key", "a").statusCode()).isEqualTo(429);
    assertThat(server.get("/composed/key", "X-Api-Key", "b").statusCode()).isEqualTo(200);
  }

  @Test
  void composedAnnotationsOnRouteAndClassAddUp() {
    assertThat(server.get("/composed/id/1", "X-Api-Key", "a").statusCode()).isEqualTo(200);
    assertThat(server.get("/composed/id/2", "X-Api-Key", "a").statusCode()).isEqualTo(429);
    assertThat(server.get("/composed/id/1", "X-Api-Key", "b").statusCode()).isEqualTo(429);
    assertThat(server.get("/composed/id/2", "X-Api-Key", "b").statusCode()).isEqualTo(200);
  }

  @Test
  void aLimitedBeanBehindARouteDeniesTheCallOfTheRoute() {
    assertThat(statuses("/shop/stock", 2)).containsExactly(200, 429);
  }

  /** It is woven in a subclass, so a call on {@code this} is a call like any other. */
  @Test
  void aLimitedMethodOfTheBeanItselfIsLimitedToo() {
    assertThat(statuses("/shop/self", 2)).containsExactly(200, 429);
  }

  @Test
  void aRouteThatIsCalledAsAMethodTakesItsOwnLimit() {
    assertThat(statuses("/shop/self-route", 2)).containsExactly(200, 429);
    assertThat(statuses("/shop/buy", 1)).containsExactly(429);
  }

  @Test
  void aSelfCallThatWouldHaveToWaitOnAnEventLoopFailsBeforeItIsCounted() {
    assertThat(statuses("/shop/self-on-loop", 1)).containsExactly(422); // by the error route
    assertThat(server.keys().all()).isEmpty();
  }

  private int[] statuses(String path, int calls) {
    int[] statuses = new int[calls];
    for (int call = 0; call < calls; call++) {
      statuses[call] = server.get(path).statusCode();
    }
    return statuses;
  }
}
