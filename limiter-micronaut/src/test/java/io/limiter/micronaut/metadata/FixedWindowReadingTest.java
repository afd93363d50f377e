// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** From the members of {@code @RateRule} to where windows begin. */
class FixedWindowReadingTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");

  private final Plans plans = Plans.of("FixedWindowReadingTest");

  @AfterEach
  void close() {
    plans.close();
  }

  @Test
  void windowsBeginWithACallUnlessTheyAreAligned() {
    Duration day = Duration.ofDays(1);
    LocalDateTime monday = LocalDateTime.of(2024, 1, 1, 0, 0);

    assertThat(rules("windows"))
        .containsExactly(
            FixedWindowRule.of(1, day),
            FixedWindowRule.aligned(2, day, ZoneId.of("UTC")),
            FixedWindowRule.aligned(3, day, BERLIN),
            FixedWindowRule.of(4, Duration.ofDays(7))
                .alignedTo(Alignment.to(ZoneId.of("UTC")).from(monday)),
            FixedWindowRule.of(5, Duration.ofMinutes(7))
                .alignedTo(Alignment.to(BERLIN).from(monday)),
            FixedWindowRule.of(6, day));
  }

  @Test
  void alignedWindowsBeginByTheClockThatIsConfigured() {
    try (Plans berlin =
        new Plans(
            ApplicationContext.run(
                Map.of("spec.name", "FixedWindowReadingTest", "limiter.zone", "Europe/Berlin")))) {
      assertThat(rules(berlin, "windows"))
          .filteredOn(rule -> rule.count() == 2)
          .containsExactly(FixedWindowRule.aligned(2, Duration.ofDays(1), BERLIN));
    }
  }

  @Test
  void aZoneMayBeASettingOfTheApplication() {
    try (Plans configured =
        new Plans(
            ApplicationContext.run(
                Map.of("spec.name", "FixedWindowReadingTest", "test.zone", "Asia/Tokyo")))) {
      assertThat(rules(configured, "placeholder"))
          .containsExactly(FixedWindowRule.aligned(10, MINUTE, ZoneId.of("Asia/Tokyo")));
    }
  }

  private List<Rule> rules(String method) {
    return rules(plans, method);
  }

  private static List<Rule> rules(Plans plans, String method) {
    return plans.of(Annotated.class, method).policy().rules();
  }

  @Singleton
  @Requires(property = "spec.name", value = "FixedWindowReadingTest")
  static class Annotated {

    @RateRule(count = 1, time = 1, timeUnit = TimeUnit.DAYS, algorithm = Algorithm.FIXED_WINDOW)
    @RateRule(
        count = 2,
        time = 1,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(aligned = true))
    @RateRule(
        count = 3,
        time = 1,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(zone = "Europe/Berlin"))
    @RateRule(
        count = 4,
        time = 7,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(anchor = "2024-01-01T00:00"))
    @RateRule(
        count = 5,
        time = 7,
        timeUnit = TimeUnit.MINUTES,
        fixedWindow =
            @FixedWindow(aligned = true, zone = "Europe/Berlin", anchor = "2024-01-01T00:00:00"))
    @RateRule(
        count = 6,
        time = 1,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(aligned = false))
    void windows() {}

    @RateRule(fixedWindow = @FixedWindow(zone = "${test.zone:UTC}"))
    void placeholder() {}
  }
}
