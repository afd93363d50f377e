// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** What {@link AddingUpTest} reads. */
final class AddingUpBeans {

  static final String SPEC = "AddingUpTest";

  private AddingUpBeans() {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OnMethods {
    @RateRule(count = 9, time = 1)
    @RateRule(count = 1)
    @RateRule(count = 5)
    void rules() {}

    @RateRule(count = 1)
    @RateRule(count = 1)
    void equalRules() {}

    @RateRule(count = 3)
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 2))
    @RateRule(count = 1)
    void besideALimiter() {}

    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    void limiters() {}

    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = {@RateRule(count = 1), @RateRule(count = 2, limitType = LimitType.GLOBAL)})
    @RateRule(count = 3, header = "X-Api-Key")
    @RateRule(count = 4, subject = "#{phone}")
    void subjectsOfTheirOwn(String phone) {}

    @RateLimiter(
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2, limitType = LimitType.GLOBAL),
          @RateRule(count = 5, limitType = LimitType.IP)
        })
    @RateLimiter(
        key = "shared",
        rules = {@RateRule(count = 3), @RateRule(count = 4, limitType = LimitType.GLOBAL)})
    void logs() {}

    @RateRule
    @RateRule(limitType = LimitType.GLOBAL)
    @RateRule(limitType = LimitType.USER_ID)
    void equalNumbers() {}
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
  abstract static class Base implements Contract {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @ComposedOnClass
  @RateRule(count = 4)
  static class Everywhere extends Base {
    @Override
    @Composed
    @RateRule(count = 1)
    public void call() {}
  }

  interface Limited {
    @RateRule(count = 2)
    void call();
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Implementation implements Limited {
    @Override
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
    public void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateRule(count = 1)
  static class OnClass {
    void first() {}

    void second() {}

    @NoRateLimit
    void free() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(key = "shop", rules = @RateRule(count = 1))
  static class KeyedClass {
    void first() {}

    void second() {}
  }

  @RateRule(count = 2)
  abstract static class LimitedBase {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @NoRateLimit
  static class ExemptClass extends LimitedBase {
    @RateRule(count = 1)
    void limited() {}

    void free() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(preventDuplicate = true)
  static class Submissions {
    void asTheClass() {}

    @RateLimiter(preventDuplicate = false, rules = @RateRule)
    void never() {}

    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 1, time = 9))
    void other() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(value = "class", message = "from the class", rules = @RateRule(count = 2))
  static class Named {
    @RateLimiter(value = "method", message = "from the method", rules = @RateRule(count = 1))
    void named() {}

    void unnamed() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Answered {
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        message = "an hour",
        rules = @RateRule(count = 1, time = 3600))
    @RateLimiter(
        key = "answered",
        limitType = LimitType.GLOBAL,
        message = "a minute",
        rules = @RateRule(count = 1))
    void answered() {}
  }
}
