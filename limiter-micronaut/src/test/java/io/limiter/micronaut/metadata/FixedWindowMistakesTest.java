// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** An invalid alignment of windows stops the start. */
class FixedWindowMistakesTest extends MistakesContract {

  private static final String TWO =
      "fixedWindow already defines how the rule counts: remove one of them";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(ZoneOfBucket.class, "@RateRule.algorithm = TOKEN_BUCKET", TWO),
        arguments(
            AnchorOfCounter.class, "@RateLimiter.rules.algorithm = SLIDING_WINDOW_COUNTER", TWO),
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
            "@RateRule.fixedWindow.zone = Europe/Nowhere",
            "there is no such time zone: write one such as UTC or Europe/Berlin"),
        arguments(
            AnchorIsADay.class,
            "@RateRule.fixedWindow.anchor = 2024-01-01:",
            "it is not a local time in whole microseconds: write one such as 2024-01-01T00:00"),
        arguments(
            AnchorBetweenMicros.class,
            "@RateRule.fixedWindow.anchor = 2024-01-01T00:00:00.000000001",
            "whole microseconds"),
        arguments(
            ZoneUnaligned.class,
            "@RateRule.fixedWindow.zone = UTC",
            "only aligned windows have it: write aligned = true, or remove it"),
        arguments(
            AnchorUnaligned.class,
            "@RateRule.fixedWindow.anchor = 2024",
            "only aligned windows have it"),
        arguments(
            ExpressionAsZone.class,
            "@RateRule.fixedWindow.zone = #{…}",
            "it is read once, when the service"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "ZoneOfBucket")
  static class ZoneOfBucket {
    @RateRule(fixedWindow = @FixedWindow(zone = "UTC"), algorithm = Algorithm.TOKEN_BUCKET)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnchorOfCounter")
  static class AnchorOfCounter {
    @RateLimiter(
        rules =
            @RateRule(
                fixedWindow = @FixedWindow(anchor = "2024-01-01T00:00"),
                algorithm = Algorithm.SLIDING_WINDOW_COUNTER))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "SevenMinutes")
  static class SevenMinutes {
    @RateRule(time = 7, timeUnit = TimeUnit.MINUTES, fixedWindow = @FixedWindow(aligned = true))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "EightDays")
  static class EightDays {
    @RateRule(
        time = 8,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(anchor = "2024-01-01T00:00"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "UnknownZone")
  static class UnknownZone {
    @RateRule(fixedWindow = @FixedWindow(zone = "Europe/Nowhere"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnchorIsADay")
  static class AnchorIsADay {
    @RateRule(fixedWindow = @FixedWindow(anchor = "2024-01-01"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnchorBetweenMicros")
  static class AnchorBetweenMicros {
    @RateRule(fixedWindow = @FixedWindow(anchor = "2024-01-01T00:00:00.000000001"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ZoneUnaligned")
  static class ZoneUnaligned {
    @RateRule(fixedWindow = @FixedWindow(aligned = false, zone = "UTC"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnchorUnaligned")
  static class AnchorUnaligned {
    @RateRule(fixedWindow = @FixedWindow(aligned = false, anchor = "2024-01-01T00:00"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ExpressionAsZone")
  static class ExpressionAsZone {
    @RateRule(fixedWindow = @FixedWindow(zone = "#{zone}"))
    void call(String zone) {}
  }
}
