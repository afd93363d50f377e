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
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What comes from overridden methods and from types above: from how far, in which order, and what
 * stops it. A route whose inherited limit did not hold would be open to all.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class InheritedPlacesTest {

  private static final String SPEC = "InheritedPlacesTest";

  @AutoClose private final Plans plans = Plans.recorded(SPEC);

  /** The logs that a call of the method is counted in. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # All places add up from the method outwards.
          Everywhere | call     | limitType = IP: 1-per-60s, 2-per-60s, 3-per-60s, 4-per-60s, 5-per-60s, 6-per-60s
          # Every method above adds its rules, the nearest first; a rule counts the subject of its own place.
          Last | call           | limitType = IP: 3-per-60s, 2-per-60s, 1-per-60s
          OfLimited | call      | limitType = USER_ID: 1-per-60s; limitType = IP: 2-per-60s
          # Several interfaces add up. Metadata does not state from which of them an annotation is, so they are one place.
          OfTwo | mixed         | limitType = GLOBAL: 2-per-60s, 1-per-60s
          # Metadata has a rule once that is written alike in both places: it counts as in the nearest.
          OfTwo | alike         | limitType = GLOBAL: 8-per-60s, 1-per-60s
          # An exempt implementation is free from its interface, an exempt method of an interface from the class below.
          OfTwo | freed         | ''
          Other | exempt        | ''
          # The class is nearer than an exempt interface, and the method above is nearer than the class.
          LimitedBelow | call   | limitType = IP: 1-per-60s
          Other | named         | limitType = IP: 5-per-60s; key = io.limiter.micronaut.metadata.InheritedPlacesTest$Other.named() class, limitType = IP: 9-per-60s
          # A type parameter may stand between.
          OfText | take         | subject = #{id}: 1-per-60s; limitType = GLOBAL: 2-per-60s
          # An interface and a superclass speak for the classes below, also for what these inherit.
          Below | call          | limitType = IP: 1-per-60s, 2-per-60s, 3-per-60s, 4-per-60s
          Below | byDefault     | limitType = IP: 1-per-60s, 2-per-60s, 3-per-60s, 4-per-60s
          Beside | kept         | limitType = IP: 7-per-60s, 2-per-60s, 3-per-60s
          """)
  void aCallCounts(String bean, String method, String logs) throws ClassNotFoundException {
    assertThat(plans.logs(getClass(), bean, method)).isEqualTo(logs);
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

  @Test
  void eachClassIsLimitedByItself() {
    for (Class<?> bean : new Class<?>[] {Below.class, Beside.class}) {
      assertThat(plans.of(bean, "kept").policy().limit()).isEqualTo(bean.getName() + ".kept()");
    }
    for (Class<?> bean : new Class<?>[] {OfTwo.class, Other.class}) {
      assertThat(plans.of(bean, "rules").policy().limit()).isEqualTo(bean.getName() + ".rules()");
    }
  }

  @Test
  void aNameAboveIsThatOfAllImplementations() {
    assertThat(plans.of(OfTwo.class, "named").policy().name()).isEqualTo("above");
    assertThat(plans.of(Other.class, "named").policy().name()).isEqualTo("above");
  }

  @Test
  void aCallThroughTheTypeAboveIsOneDecision() {
    Generic<String> bean = plans.context().getBean(OfText.class);

    bean.take("ann");

    assertThat(plans.context().getBean(RecordedDecisions.class).requests())
        .singleElement()
        .satisfies(request -> assertThat(request.charges()).hasSize(2));
    assertThat(plans.of(OfText.class, "take").method())
        .isEqualTo(OfText.class.getName() + ".take(java.lang.String)");
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateRule(count = 2)
  @interface Composed {}

  interface Contract {
    @RateRule(count = 3)
    void call();
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateRule(count = 5)
  @interface ComposedOnClass {}

  @RateRule(count = 6)
  abstract static class LimitedBase implements Contract {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @ComposedOnClass
  @RateRule(count = 4)
  static class Everywhere extends LimitedBase {
    @Override
    @Composed
    @RateRule(count = 1)
    public void call() {}
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

  interface Limited {
    @RateRule(count = 2)
    void call();
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OfLimited implements Limited {
    @Override
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
    public void call() {}
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
