// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Error;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.Arguments;

/** What stands in the wrong place, or contradicts what stands beside it, stops the start. */
class PlacementMistakesTest extends MistakesContract {

  private static final String SEVERAL =
      "there are several @RateLimiters in the same place: put it into the rules of the one it belongs to";
  private static final String CONTRADICTS = "one contradicts the other: remove one of them";
  private static final String ERROR_ROUTE = "error routes cannot be limited: remove the limit";
  private static final String EIGHT = "give it 1 to 8";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(BesideSeveralLimiters.class, "@RateRule = {count=3}", SEVERAL),
        arguments(BesideSeveralOnClass.class, "@RateRule = {count=3}", SEVERAL),
        arguments(BesideComposedLimiter.class, "@RateRule = {count=3}", SEVERAL),
        arguments(ExemptAndRuled.class, "@NoRateLimit = beside [@", CONTRADICTS),
        arguments(ExemptAndLimitedByComposed.class, "@NoRateLimit = beside [@", CONTRADICTS),
        arguments(ExemptAndRuledClass.class, "@NoRateLimit = beside [@", CONTRADICTS),
        arguments(NineOfOneSubject.class, "9 rules in one stack", EIGHT),
        arguments(
            OneNameInTwoPlaces.class,
            "@RateRule.name = fair-use",
            "another rule of this method has this name: give it another name"),
        arguments(
            OneNameForTwoSubjects.class,
            "@RateRule.name = fair-use",
            "another rule of this method has this name: give it another name"),
        arguments(LimitedErrorRoute.class, "@Error = a limited method", ERROR_ROUTE),
        arguments(LimitedErrorRouteOfExemptClass.class, "@Error = a limited method", ERROR_ROUTE));
  }

  @Test
  void eightRulesOfEachSubjectAreFine() {
    assertThatNoException().isThrownBy(() -> Starts.inMemory("Sixteen").close());
  }

  @Singleton
  @Requires(property = "spec.name", value = "BesideSeveralLimiters")
  static class BesideSeveralLimiters {
    @RateLimiter(rules = @RateRule(count = 1))
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    @RateRule(count = 3)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BesideSeveralOnClass")
  @RateLimiter(rules = @RateRule(count = 1))
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
  @RateRule(count = 3)
  static class BesideSeveralOnClass {

    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BesideComposedLimiter")
  static class BesideComposedLimiter {
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    @EachUser
    @RateRule(count = 3)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ExemptAndRuled")
  static class ExemptAndRuled {
    @NoRateLimit
    @RateRule(count = 1)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ExemptAndLimitedByComposed")
  static class ExemptAndLimitedByComposed {
    @NoRateLimit
    @EachUser
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ExemptAndRuledClass")
  @NoRateLimit
  @RateRule(count = 1)
  static class ExemptAndRuledClass {

    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "NineOfOneSubject")
  @RateRule(count = 1)
  @RateRule(count = 2)
  @RateRule(count = 3)
  @RateRule(count = 4)
  static class NineOfOneSubject {
    @RateRule(count = 5)
    @RateRule(count = 6)
    @RateRule(count = 7)
    @RateRule(count = 8)
    @RateRule(count = 9)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OneNameInTwoPlaces")
  @RateRule(count = 2, name = "fair-use")
  static class OneNameInTwoPlaces {
    @RateRule(count = 1, name = "fair-use")
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OneNameForTwoSubjects")
  static class OneNameForTwoSubjects {
    @RateRule(name = "fair-use")
    @RateRule(name = "fair-use", limitType = LimitType.GLOBAL)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LimitedErrorRoute")
  static class LimitedErrorRoute {
    @Error
    @RateRule
    void call(IllegalStateException error) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LimitedErrorRouteOfExemptClass")
  @NoRateLimit
  static class LimitedErrorRouteOfExemptClass {
    @Error
    @RateRule
    void call(IllegalStateException error) {}
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
  @interface EachUser {}

  @Singleton
  @Requires(property = "spec.name", value = "Sixteen")
  static class Sixteen {
    @RateLimiter(
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2),
          @RateRule(count = 3),
          @RateRule(count = 4),
          @RateRule(count = 5),
          @RateRule(count = 6),
          @RateRule(count = 7),
          @RateRule(count = 8)
        })
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2),
          @RateRule(count = 3),
          @RateRule(count = 4),
          @RateRule(count = 5),
          @RateRule(count = 6),
          @RateRule(count = 7),
          @RateRule(count = 8)
        })
    void call() {}
  }
}
