// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A condition selects whole values: whether it holds changes neither the key nor the count of the
 * rules that it does not select.
 */
class ConditionKeysTest {

  private static final String SPEC = "ConditionKeysTest";
  private static final String[] SELECTED = {"X-Selected", "yes"};

  @Controller("/conditions")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/policies")
    @RateLimiter(value = "some", condition = "selected", rules = @RateRule(count = 9, time = 7_200))
    @RateLimiter(value = "all", rules = @RateRule(count = 4, time = 3_600))
    String policies() {
      return "ok";
    }

    @Get("/one")
    @RateLimiter(
        value = "one",
        condition = "selected",
        rules = {
          @RateRule(count = 9, time = 7_200),
          @RateRule(count = 9, time = 60, algorithm = Algorithm.FIXED_WINDOW)
        })
    @RateLimiter(value = "one", rules = @RateRule(count = 4, time = 3_600))
    String one() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(
        value = "argument",
        condition = "#{selected}",
        rules = @RateRule(count = 9, time = 7_200))
    @RateLimiter(value = "argument", rules = @RateRule(count = 4, time = 3_600))
    String argument(@QueryValue(defaultValue = "false") boolean selected) {
      return "ok";
    }

    @Get("/guard")
    @RateLimiter(
        value = "guard",
        condition = "selected",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 9, time = 7_200),
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    @RateLimiter(value = "guarded", rules = @RateRule(count = 4, time = 3_600))
    String guard() {
      return "ok";
    }
  }

  @Singleton
  @Named("selected")
  @Requires(property = "spec.name", value = SPEC)
  static class Selected implements LimitCondition {
    @Override
    public boolean limits(HttpRequest<?> request) {
      return request.getHeaders().contains("X-Selected");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"policies", "one", "argument", "guard"})
  void theOtherRulesCountUnderTheSameKey(String route) {
    String path = "/conditions/" + route;
    String selected = route.equals("argument") ? path + "?selected=true" : path;
    try (TestServer server = TestServer.start(SPEC)) {
      assertThat(server.status(path)).isEqualTo(200);
      Set<String> others = server.keys().all().keySet();
      assertThat(others).hasSize(1);

      assertThat(server.status(selected, SELECTED)).isEqualTo(200);
      assertThat(server.keys().all().keySet()).hasSize(2).containsAll(others);

      assertThat(server.status(path)).isEqualTo(200);
      assertThat(server.status(selected, SELECTED)).isEqualTo(200);
      assertThat(server.status(path)).isEqualTo(429);
      assertThat(server.status(selected, SELECTED)).isEqualTo(429);
      assertThat(server.keys().all().keySet()).hasSize(2);
    }
  }
}
