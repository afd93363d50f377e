// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** What the pages show of rules without annotations. */
final class RulesFromCode {

  private RulesFromCode() {}

  static void policies() {
    Policy articles =
        Policy.of(
            "articles",
            SlidingWindowLogRule.of(10, Duration.ofMinutes(1)),
            SlidingWindowLogRule.of(100, Duration.ofHours(1)));

    Policy events =
        Policy.of("events", SlidingWindowCounterRule.of(1_000_000, Duration.ofHours(1)));

    ZoneId berlin = ZoneId.of("Europe/Berlin");
    Policy quotes =
        Policy.of(
            "quotes",
            FixedWindowRule.aligned(1_000, Duration.ofDays(1), berlin),
            FixedWindowRule.of(5_000, Duration.ofDays(7)) // weeks from Monday
                .alignedTo(Alignment.to(berlin).from(LocalDateTime.parse("2024-01-01T00:00"))));

    Policy translations =
        Policy.of("translations", FixedWindowRule.aligned(100_000, CalendarPeriod.MONTH, berlin));
    FixedWindowRule fromTheLastDay =
        FixedWindowRule.aligned(100_000, CalendarPeriod.MONTH, berlin)
            .alignedTo(
                Alignment.to(berlin)
                    .each(CalendarPeriod.MONTH)
                    .from(LocalDateTime.parse("2024-01-31T00:00")));

    Policy thumbnails = Policy.of("thumbnails", TokenBucketRule.of(20, 5, Duration.ofSeconds(1)));
    TokenBucketRule slow =
        TokenBucketRule.of(20, 5, Duration.ofSeconds(1)).byInterval().startingWith(5);

    Policy exports =
        Policy.of(
            "exports", LeakyBucketRule.of(2, Duration.ofSeconds(1), 10, Duration.ofSeconds(10)));
    LeakyBucketRule unfair =
        LeakyBucketRule.of(2, Duration.ofSeconds(1), 10, Duration.ofSeconds(10)).withFair(false);

    RedisSettings settings = RedisSettings.defaults().withAlgorithms(List.of(new FadingCounter()));
    Policy chat =
        Policy.of("chat", CustomRule.of(new FadingCounter(), 10, Duration.ofSeconds(10), 2.0));
  }

  static void waits(
      Limiter limiter, LimitRequest export, ScheduledExecutorService timer, Runnable work) {
    limiter
        .acquire(export)
        .thenAccept(
            verdict -> {
              if (verdict.allowed()) {
                timer.schedule(work, verdict.delay().toNanos(), TimeUnit.NANOSECONDS);
              }
            });
  }

  static void lift(Limiter limiter, String address) {
    BanRule ban =
        BanRule.of(5, Duration.ofMinutes(1), Duration.ofMinutes(15)).growing(2, Duration.ofDays(1));
    Policy signIn =
        Policy.of("sign-in", SlidingWindowLogRule.of(3, Duration.ofMinutes(1))).withBan(ban);

    limiter.reset(LimitRequest.of(signIn, new Subject("ip", address)));
  }

  static void costs(Limiter limiter, Policy credits, String name) {
    limiter.acquire(LimitRequest.of(credits, new Subject("user", name)).withCost(400));
  }
}
