// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What comes from overridden methods: from how far, in which order, and what stops it. */
class InheritedPlacesTest {

  private static final String SPEC = "InheritedPlacesTest";

  private final Plans plans = Plans.recorded(SPEC);

  @AfterEach
  void close() {
    plans.close();
  }

  @Test
  void everyMethodAboveAddsItsRulesTheNearestFirst() {
    assertThat(plans.logs(Last.class, "call"))
        .containsExactly("limitType = IP: 3-per-60s, 2-per-60s, 1-per-60s");
  }

  @Test
  void severalInterfacesAddUp() {
    assertThat(plans.logs(OfTwo.class, "rules"))
        .singleElement()
        .asString()
        .startsWith("limitType = IP: 9-per-60s, ")
        .contains("1-per-60s", "2-per-60s");
    assertThat(plans.logs(OfTwo.class, "limiters"))
        .containsExactlyInAnyOrder(
            "limitType = USER_ID: 1-per-60s", "limitType = GLOBAL: 2-per-60s");
  }

  /** Metadata does not state from which of them it is. */
  @Test
  void annotationsInheritedFromSeveralTypesAreOnePlace() {
    assertThat(plans.logs(OfTwo.class, "mixed"))
        .containsExactly("limitType = GLOBAL: 2-per-60s, 1-per-60s");
  }

  /** Metadata has it once. Another time or name distinguishes the two. */
  @Test
  void aRuleThatIsWrittenAlikeInBothPlacesCountsAsInTheNearest() {
    assertThat(plans.logs(OfTwo.class, "alike"))
        .containsExactly("limitType = GLOBAL: 8-per-60s, 1-per-60s");
  }

  @Test
  void anExemptImplementationIsFreeFromItsInterface() {
    assertThat(plans.find(OfTwo.class, "freed")).isEmpty();
  }

  @Test
  void anExemptMethodOfAnInterfaceIsFreeFromTheClassBelow() {
    assertThat(plans.find(Other.class, "exempt")).isEmpty();
  }

  @Test
  void theMethodAboveIsNearerThanTheClass() {
    assertThat(plans.of(Other.class, "named").policy().name()).isEqualTo("above");
    assertThat(plans.logs(Other.class, "named"))
        .containsExactly(
            "limitType = IP: 5-per-60s",
            "key = " + Other.class.getName() + ".named() class, limitType = IP: 9-per-60s");
  }

  @Test
  void aNameAboveIsThatOfAllImplementations() {
    assertThat(plans.of(OfTwo.class, "named").policy().name()).isEqualTo("above");
  }

  @Test
  void aTypeParameterMayStandBetween() {
    assertThat(plans.logs(OfText.class, "take"))
        .containsExactly("subject = #{id}: 1-per-60s", "limitType = GLOBAL: 2-per-60s");
    assertThat(plans.of(OfText.class, "take").method())
        .isEqualTo(OfText.class.getName() + ".take(java.lang.String)");
  }

  @Test
  void aCallThroughTheTypeAboveIsOneDecision() {
    Generic<String> bean = plans.context().getBean(OfText.class);

    bean.take("ann");

    assertThat(plans.context().getBean(RecordedDecisions.class).requests())
        .singleElement()
        .satisfies(request -> assertThat(request.charges()).hasSize(2));
  }

  abstract static class First {
    @RateRule(count = 1)
    void call() {}
  }

  abstract static class Middle extends First {
    @Override
    @RateRule(count = 2)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Last extends Middle {
    @Override
    @RateRule(count = 3)
    void call() {}
  }

  interface One {
    @RateRule(count = 1)
    void rules();

    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
    void limiters();

    @RateRule(count = 1)
    void mixed();

    @RateRule(count = 1)
    void alike();

    @RateRule(count = 1)
    void freed();

    @NoRateLimit
    void exempt();

    @RateLimiter(value = "above", rules = @RateRule(count = 5))
    void named();
  }

  interface Two {
    @RateRule(count = 2)
    void rules();

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    void limiters();

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    void mixed();
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OfTwo implements One, Two {
    @Override
    @RateRule(count = 9)
    public void rules() {}

    @Override
    public void limiters() {}

    @Override
    public void mixed() {}

    @Override
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 8))
    @RateRule(count = 1)
    public void alike() {}

    @Override
    @NoRateLimit
    public void freed() {}

    @Override
    public void exempt() {}

    @Override
    public void named() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(value = "class", rules = @RateRule(count = 9))
  static class Other implements One {
    @Override
    public void rules() {}

    @Override
    public void limiters() {}

    @Override
    public void mixed() {}

    @Override
    public void alike() {}

    @Override
    public void freed() {}

    @Override
    public void exempt() {}

    @Override
    public void named() {}
  }

  abstract static class Generic<T> {
    @RateLimiter(subject = "#{id}", rules = @RateRule(count = 1))
    @RateRule(count = 2, limitType = LimitType.GLOBAL)
    abstract void take(T id);
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OfText extends Generic<String> {
    @Override
    void take(String id) {}
  }
}
