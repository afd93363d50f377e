// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Texts of annotations may be configured, wherever the annotation stands. */
class PlaceholdersTest {

  private static final String SPEC = "PlaceholdersTest";

  @AutoClose
  private final Plans plans =
      new Plans(
          ApplicationContext.run(
              Map.of(
                  "spec.name", SPEC,
                  "test.key", "orders",
                  "test.header", "X-Tenant",
                  "test.message", "Configured",
                  "test.name", "configured",
                  "test.code", "configured_code")));

  @Test
  void theyAreResolvedOnMethodsAndComposedAnnotations() {
    for (Class<?> bean : List.of(OnMethod.class, Composed.class)) {
      LimitPlan plan = plans.of(bean, "call");

      assertThat(Plans.logs(plan))
          .as(bean.getSimpleName())
          .containsExactly("key = orders, header = x-tenant: 1-per-60s");
      assertThat(Plans.texts(plan).get("1-per-60s").message()).contains("Configured");
      assertThat(Plans.texts(plan).get("1-per-60s").code()).contains("configured_code");
    }
  }

  @Test
  void aNameAndARulesNameAreResolved() {
    LimitPlan plan = plans.of(Named.class, "call");

    assertThat(plan.policy().name()).isEqualTo("configured");
    assertThat(Plans.logs(plan)).containsExactly("header = x-tenant: configured");
    assertThat(plan.duplicates().orElseThrow().text().message()).contains("Configured");
  }

  @Test
  void aPlaceholderWithoutAValueHasItsDefault() {
    assertThat(plans.of(Named.class, "byDefault").policy().limit()).isEqualTo("otherwise");
    assertThat(plans.of(Named.class, "byDefault").charges())
        .extracting(PlannedCharge::cost)
        .containsExactly(new PlannedCharge.Cost(7));
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OnMethod {
    @RateLimiter(
        key = "${test.key}",
        header = "${test.header}",
        message = "${test.message}",
        code = "${test.code}",
        rules = @RateRule(count = 1))
    void call() {}
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      key = "${test.key}",
      header = "${test.header}",
      message = "${test.message}",
      code = "${test.code}",
      rules = @RateRule(count = 1))
  @interface Configured {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Composed {
    @Configured
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Named {
    @RateLimiter(
        value = "${test.name}",
        rules = @RateRule(name = "${test.name}", header = "${test.header}"),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.CALLER, message = "${test.message}"))
    void call() {}

    @RateLimiter(key = "${test.none:otherwise}", cost = "${test.none:7}", rules = @RateRule)
    void byDefault() {}
  }
}
