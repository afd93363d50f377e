// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.Alignment;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.micronaut.config.LimiterConfiguration;
import jakarta.inject.Singleton;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Creates a fixed-window rule, and reads when its windows begin. */
@Singleton
final class FixedWindowReader {

  private final LimiterConfiguration configuration;

  FixedWindowReader(LimiterConfiguration configuration) {
    this.configuration = configuration;
  }

  FixedWindowRule read(
      AnnotationMembers rule, AnnotationMembers fixed, long count, Duration window) {
    FixedWindowRule unaligned = FixedWindowRule.of(count, window);
    Optional<Alignment> alignment = alignment(fixed);
    try {
      return alignment.map(unaligned::alignedTo).orElse(unaligned);
    } catch (IllegalArgumentException e) {
      throw rule.error("time", time(rule), String.valueOf(e.getMessage()));
    }
  }

  private Optional<Alignment> alignment(AnnotationMembers rule) {
    if (rule.has("aligned") && rule.isFalse("aligned")) {
      for (String member : List.of("zone", "anchor")) {
        rule.reject(member, "only aligned windows have it: write aligned = true, or remove it");
      }
      return Optional.empty();
    }
    Optional<ZoneId> zone = rule.text("zone").map(text -> zone(rule, text));
    Optional<LocalDateTime> anchor = rule.text("anchor").map(text -> anchor(rule, text));
    return rule.isTrue("aligned") || zone.isPresent() || anchor.isPresent()
        ? Optional.of(new Alignment(zone.orElseGet(configuration::zone), anchor))
        : Optional.empty();
  }

  private static ZoneId zone(AnnotationMembers rule, String text) {
    try {
      return ZoneId.of(text);
    } catch (DateTimeException unknown) {
      throw rule.error(
          "zone", text, "there is no such time zone: write one such as UTC or Europe/Berlin");
    }
  }

  private static LocalDateTime anchor(AnnotationMembers rule, String text) {
    try {
      LocalDateTime anchor = LocalDateTime.parse(text);
      if (anchor.truncatedTo(ChronoUnit.MICROS).equals(anchor)) {
        return anchor;
      }
    } catch (DateTimeException unreadable) {
      // Rejected below.
    }
    throw rule.error(
        "anchor",
        text,
        "it is not a local time in whole microseconds: write one such as 2024-01-01T00:00");
  }

  private static String time(AnnotationMembers rule) {
    return rule.setting("time").isPresent()
        ? rule.setting("time").get().value()
        : rule.number("time").orElse(RateRuleReader.DEFAULT_TIME)
            + " "
            + rule.constant("timeUnit", TimeUnit.class).orElse(RateRuleReader.DEFAULT_UNIT);
  }
}
