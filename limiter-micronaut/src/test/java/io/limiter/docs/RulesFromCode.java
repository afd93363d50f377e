// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.FadingCounter;
import io.limiter.core.Policy;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;

/** What the pages show of rules without annotations. */
final class RulesFromCode {

  private RulesFromCode() {}

  static void policies() {
    ZoneId berlin = ZoneId.of("Europe/Berlin");
    Policy articles =
        Policy.of(
            "articles",
            SlidingWindowLogRule.of(10, Duration.ofMinutes(1)),
            SlidingWindowCounterRule.of(1_000_000, Duration.ofHours(1)),
            FixedWindowRule.aligned(1_000, Duration.ofDays(1), berlin),
            FixedWindowRule.aligned(100_000, CalendarPeriod.MONTH, berlin),
            TokenBucketRule.of(20, 5, Duration.ofSeconds(1)).byInterval().startingWith(5),
            LeakyBucketRule.of(2, Duration.ofSeconds(1), 10, Duration.ofSeconds(10)));

    RedisSettings settings = RedisSettings.defaults().withAlgorithms(List.of(new FadingCounter()));
    Policy chat =
        Policy.of("chat", CustomRule.of(new FadingCounter(), 10, Duration.ofSeconds(10), 2.0));
  }

  static void bans() {
    BanRule ban =
        BanRule.of(5, Duration.ofMinutes(1), Duration.ofMinutes(15)).growing(2, Duration.ofDays(1));
    Policy signIn =
        Policy.of("sign-in", SlidingWindowLogRule.of(3, Duration.ofMinutes(1))).withBan(ban);
  }
}
