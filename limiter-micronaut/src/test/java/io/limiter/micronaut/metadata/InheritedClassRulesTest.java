// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a class takes from the types above it. */
class InheritedClassRulesTest {

  private static final String SPEC = "InheritedClassRulesTest";

  private final Plans plans = Plans.of(SPEC);

  @AfterEach
  void close() {
    plans.close();
  }

  @Test
  void anInterfaceAndASuperclassSpeakForTheClassesBelow() {
    assertThat(plans.logs(Below.class, "call"))
        .containsExactly("limitType = IP: 1-per-60s, 2-per-60s, 3-per-60s, 4-per-60s");
    assertThat(plans.logs(Below.class, "byDefault"))
        .containsExactly("limitType = IP: 1-per-60s, 2-per-60s, 3-per-60s, 4-per-60s");
  }

  @Test
  void anInheritedMethodIsLimitedForEachClassByItself() {
    assertThat(plans.of(Below.class, "kept").policy().limit())
        .isEqualTo(Below.class.getName() + ".kept()");
    assertThat(plans.of(Beside.class, "kept").policy().limit())
        .isEqualTo(Beside.class.getName() + ".kept()");
    assertThat(plans.logs(Beside.class, "kept"))
        .containsExactly("limitType = IP: 7-per-60s, 2-per-60s, 3-per-60s");
  }

  @Test
  void theClassIsNearerThanAnExemptInterface() {
    assertThat(plans.logs(LimitedBelow.class, "call")).containsExactly("limitType = IP: 1-per-60s");
  }

  @RateRule(count = 4)
  interface Above {
    default void byDefault() {}
  }

  @RateRule(count = 2)
  @RateRule(count = 3)
  abstract static class Base {
    @RateRule(count = 7)
    void kept() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateRule(count = 1)
  static class Below extends Base implements Above {
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Beside extends Base {}

  @NoRateLimit
  interface Exempt {
    void call();
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateRule(count = 1)
  static class LimitedBelow implements Exempt {
    @Override
    public void call() {}
  }
}
