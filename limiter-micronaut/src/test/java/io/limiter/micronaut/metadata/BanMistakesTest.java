// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** An invalid ban stops the start. */
class BanMistakesTest extends MistakesContract {

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(ViolationsZero.class, "@RateLimiter.ban.violations = 0", "give it 1 to 1000000"),
        arguments(
            ViolationsTooMany.class,
            "@RateLimiter.ban.violations = 1000001",
            "give it 1 to 1000000"),
        arguments(WithinZero.class, "@RateLimiter.ban.within = 0", "give it 1 or more"),
        arguments(
            TimeTooLong.class, "@RateLimiter.ban.time = 367 DAYS", "give it 1 ms to 366 days"),
        arguments(GrowthZero.class, "@RateLimiter.ban.growth = 0", "give it 1 to 100"),
        arguments(GrowthTooLarge.class, "@RateLimiter.ban.growth = 101", "give it 1 to 100"),
        arguments(
            LongestWithoutGrowth.class,
            "@RateLimiter.ban.longest = 90",
            "it has no effect without a growth: set growth, or remove it"),
        arguments(
            LongestShorter.class,
            "@RateLimiter.ban.longest = PT30S",
            "it is shorter than the first ban, PT1M: make it as long or longer"),
        arguments(
            LongestByDefaultShorter.class,
            "@RateLimiter.ban.longest = PT24H",
            "it is shorter than the first ban, PT48H: make it as long or longer"),
        arguments(
            TwoBans.class, "@RateLimiter.ban = @Ban, @Ban", "one is possible: remove the others"),
        arguments(
            OnlyTheGuard.class,
            "@RateLimiter.ban = 5 within PT1M for PT1M",
            "it has no rules that could deny calls: add rules, or remove it"),
        arguments(
            OnlyEverybody.class,
            "@RateLimiter.ban = 5 within PT1M for PT1M",
            "banning all of them would be an outage: add a rule that distinguishes subjects, or remove it"),
        arguments(
            OnlyEverybodyByRules.class,
            "@RateLimiter.ban = 5 within PT1M for PT1M",
            "banning all of them would be an outage"),
        arguments(
            OtherBanOfOneSubject.class,
            "@RateLimiter.ban = 2 within PT1M for PT1M: another @RateLimiter of this method has ban = 1 within PT1M for PT30S × 2 up to PT24H for the same subject",
            "give both the same ban, or one of them its own key"),
        arguments(
            OneKeyOtherBan.class,
            "@RateLimiter.key = 'sms' is shared with ",
            "which has other rules, bans otherwise, or counts others"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "ViolationsZero")
  static class ViolationsZero {
    @RateLimiter(rules = @RateRule, ban = @Ban(violations = 0))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ViolationsTooMany")
  static class ViolationsTooMany {
    @RateLimiter(rules = @RateRule, ban = @Ban(violations = 1_000_001))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "WithinZero")
  static class WithinZero {
    @RateLimiter(rules = @RateRule, ban = @Ban(within = 0))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TimeTooLong")
  static class TimeTooLong {
    @RateLimiter(rules = @RateRule, ban = @Ban(time = 367, timeUnit = TimeUnit.DAYS))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "GrowthZero")
  static class GrowthZero {
    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 0))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "GrowthTooLarge")
  static class GrowthTooLarge {
    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 101))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LongestWithoutGrowth")
  static class LongestWithoutGrowth {
    @RateLimiter(rules = @RateRule, ban = @Ban(longest = 90))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LongestShorter")
  static class LongestShorter {
    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 2, longest = 30))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LongestByDefaultShorter")
  static class LongestByDefaultShorter {
    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 2, time = 2, timeUnit = TimeUnit.DAYS))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TwoBans")
  static class TwoBans {
    @RateLimiter(
        rules = @RateRule,
        ban = {@Ban(violations = 1), @Ban(violations = 2)})
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OnlyTheGuard")
  static class OnlyTheGuard {
    @RateLimiter(preventDuplicate = true, ban = @Ban)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OnlyEverybody")
  static class OnlyEverybody {
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule, ban = @Ban)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OnlyEverybodyByRules")
  static class OnlyEverybodyByRules {
    @RateLimiter(rules = @RateRule(limitType = LimitType.GLOBAL), ban = @Ban)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OtherBanOfOneSubject")
  static class OtherBanOfOneSubject {
    @RateLimiter(rules = @RateRule(count = 1), ban = @Ban(violations = 1, time = 30, growth = 2))
    @RateLimiter(rules = @RateRule(count = 2), ban = @Ban(violations = 2))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OneKeyOtherBan")
  static class OneKeyOtherBan {
    @RateLimiter(key = "sms", rules = @RateRule, ban = @Ban(violations = 1))
    void call() {}

    @RateLimiter(key = "sms", rules = @RateRule, ban = @Ban(violations = 2))
    void call(String phone) {}
  }
}
