// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** Where windows begin makes sense, or stops the start. */
class FixedWindowMistakesTest extends MistakesContract {

  private static final String ONLY_WINDOWS =
      "only algorithm = FIXED_WINDOW has it: write that, or remove it";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(ZoneOfBucket.class, "@RateRule.zone = UTC", ONLY_WINDOWS),
        arguments(AlignedLog.class, "@RateRule.aligned = true", ONLY_WINDOWS),
        arguments(AnchorOfCounter.class, "@RateLimiter.rules.anchor = 2024", ONLY_WINDOWS),
        arguments(
            SevenMinutes.class,
            "@RateRule.time = 7 MINUTES: The rule '10-per-420s' has an aligned window of PT7M, which does not divide a day",
            "give it one that does, or an anchor"),
        arguments(
            EightDays.class,
            "@RateRule.time = 8 DAYS: The rule '10-per-691200s' has an aligned window",
            "give it 7 days at most"),
        arguments(
            UnknownZone.class,
            "@RateRule.zone = Europe/Nowhere",
            "there is no such time zone: write one such as UTC or Europe/Berlin"),
        arguments(
            AnchorIsADay.class,
            "@RateRule.anchor = 2024-01-01:",
            "it is not a local time in whole microseconds: write one such as 2024-01-01T00:00"),
        arguments(
            AnchorBetweenMicros.class,
            "@RateRule.anchor = 2024-01-01T00:00:00.000000001",
            "whole microseconds"),
        arguments(
            ZoneUnaligned.class,
            "@RateRule.zone = UTC",
            "only aligned windows have it: write aligned = true, or remove it"),
        arguments(AnchorUnaligned.class, "@RateRule.anchor = 2024", "only aligned windows have it"),
        arguments(
            ExpressionAsZone.class, "@RateRule.zone = #{…}", "it is read once, when the service"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "ZoneOfBucket")
  static class ZoneOfBucket {
    @RateRule(zone = "UTC", algorithm = Algorithm.TOKEN_BUCKET)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AlignedLog")
  static class AlignedLog {
    @RateRule(aligned = true)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnchorOfCounter")
  static class AnchorOfCounter {
    @RateLimiter(
        rules =
            @RateRule(anchor = "2024-01-01T00:00", algorithm = Algorithm.SLIDING_WINDOW_COUNTER))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "SevenMinutes")
  static class SevenMinutes {
    @RateRule(
        time = 7,
        timeUnit = TimeUnit.MINUTES,
        aligned = true,
        algorithm = Algorithm.FIXED_WINDOW)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "EightDays")
  static class EightDays {
    @RateRule(
        time = 8,
        timeUnit = TimeUnit.DAYS,
        anchor = "2024-01-01T00:00",
        algorithm = Algorithm.FIXED_WINDOW)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "UnknownZone")
  static class UnknownZone {
    @RateRule(zone = "Europe/Nowhere", algorithm = Algorithm.FIXED_WINDOW)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnchorIsADay")
  static class AnchorIsADay {
    @RateRule(anchor = "2024-01-01", algorithm = Algorithm.FIXED_WINDOW)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnchorBetweenMicros")
  static class AnchorBetweenMicros {
    @RateRule(anchor = "2024-01-01T00:00:00.000000001", algorithm = Algorithm.FIXED_WINDOW)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ZoneUnaligned")
  static class ZoneUnaligned {
    @RateRule(aligned = false, zone = "UTC", algorithm = Algorithm.FIXED_WINDOW)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnchorUnaligned")
  static class AnchorUnaligned {
    @RateRule(aligned = false, anchor = "2024-01-01T00:00", algorithm = Algorithm.FIXED_WINDOW)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ExpressionAsZone")
  static class ExpressionAsZone {
    @RateRule(zone = "#{zone}", algorithm = Algorithm.FIXED_WINDOW)
    void call(String zone) {}
  }
}
