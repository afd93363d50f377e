// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Custom;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.context.annotation.Prototype;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** An algorithm of one's own is one bean, with a usable name and a handful of numbers. */
class CustomAlgorithmMistakesTest extends MistakesContract {

  private static final String USERS =
      "SeveralBeans|NamedAlgorithmToo|RefillOfCustom|ParameterInfinite|ParametersTooMany|CustomTooLarge|CustomAsGuard";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(
            NoBean.class,
            "@RateRule.custom.value = " + Missing.class.getName(),
            "there is no bean of this type: make it a @Singleton"),
        arguments(
            SeveralBeans.class,
            "@RateRule.custom.value = " + CustomAlgorithm.class.getName(),
            "there are several beans of this type: name the one"),
        arguments(
            BeanForEach.class,
            "@RateRule.custom.value = " + Unshared.class.getName(),
            "Redis is given the script of one bean of this type: make it a @Singleton"),
        arguments(
            NamedAlgorithmToo.class,
            "@RateRule.algorithm = TOKEN_BUCKET",
            "custom already defines how the rule counts: remove one of them"),
        arguments(
            RefillOfCustom.class,
            "@RateRule.tokenBucket = @TokenBucket",
            "custom already defines how the rule counts: remove one of them"),
        arguments(
            ParameterInfinite.class,
            "@RateRule.custom.parameters = [1.0, Infinity]",
            "give it at most 8 finite numbers"),
        arguments(
            ParametersTooMany.class,
            "@RateRule.custom.parameters = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]",
            "give it at most 8 finite numbers"),
        arguments(CustomTooLarge.class, "@RateRule.count = 1000000001", "give it 1 to 1000000000"),
        arguments(
            BadName.class,
            "@RateRule.custom.value = "
                + Loud.class.getName()
                + ": The algorithm name 'My Algorithm!' is not usable",
            "give it 1 to 32 lower-case letters, digits and hyphens"),
        arguments(
            CustomAsGuard.class,
            "@RateLimiter.preventDuplicateRule.custom = @Custom",
            "which only the exact log does: remove it"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "NoBean")
  static class NoBean {
    @RateRule(custom = @Custom(Missing.class))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "SeveralBeans")
  static class SeveralBeans {
    @RateRule(custom = @Custom(CustomAlgorithm.class))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BeanForEach")
  static class BeanForEach {
    @RateRule(custom = @Custom(Unshared.class))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "NamedAlgorithmToo")
  static class NamedAlgorithmToo {
    @RateRule(custom = @Custom(Quiet.class), algorithm = Algorithm.TOKEN_BUCKET)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RefillOfCustom")
  static class RefillOfCustom {
    @RateRule(custom = @Custom(Quiet.class), tokenBucket = @TokenBucket(refill = 5))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ParameterInfinite")
  static class ParameterInfinite {
    @RateRule(
        custom =
            @Custom(
                value = Quiet.class,
                parameters = {1, Double.POSITIVE_INFINITY}))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ParametersTooMany")
  static class ParametersTooMany {
    @RateRule(
        custom =
            @Custom(
                value = Quiet.class,
                parameters = {1, 2, 3, 4, 5, 6, 7, 8, 9}))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CustomTooLarge")
  static class CustomTooLarge {
    @RateRule(custom = @Custom(Quiet.class), count = 1_000_000_001)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BadName")
  static class BadName {
    @RateRule(custom = @Custom(Loud.class))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CustomAsGuard")
  static class CustomAsGuard {
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(custom = @Custom(Quiet.class)))
    void call() {}
  }

  static class Missing extends AdmitsAll {}

  @Singleton
  @Requires(property = "spec.name", pattern = USERS)
  static class Quiet extends AdmitsAll {}

  @Prototype
  @Requires(property = "spec.name", pattern = "BeanForEach|SeveralBeans")
  static class Unshared extends AdmitsAll {}

  @Singleton
  @Requires(property = "spec.name", value = "BadName")
  static class Loud extends AdmitsAll {
    @Override
    public String name() {
      return "My Algorithm!";
    }
  }

  abstract static class AdmitsAll implements CustomAlgorithm {

    @Override
    public String name() {
      return "all";
    }

    @Override
    public int stateSize() {
      return 1;
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
      return new Evaluation(rule.count(), 0, 0, new double[1]);
    }

    @Override
    public String script() {
      return "return count, {0}";
    }
  }
}
