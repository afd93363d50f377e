// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Limiter;
import io.limiter.core.Usage;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.event.LimiterEvent.NearLimit;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.RepeatedTest;

/** A month with its usage and its warning, on a clock that the test drives. */
@LimitTest
class QuotaTest {

  @Singleton
  static class Translator {

    @RateLimiter(
        value = "translations",
        limitType = LimitType.GLOBAL,
        warnAt = 0.8,
        rules =
            @RateRule(
                count = 5,
                fixedWindow =
                    @FixedWindow(calendar = CalendarPeriod.MONTH, zone = "Europe/Berlin")))
    String translate() {
      return "translated";
    }
  }

  @Singleton
  static class Warned {
    final BlockingQueue<NearLimit> events = new LinkedBlockingQueue<>();

    @EventListener
    void on(NearLimit near) {
      events.add(near);
    }
  }

  @Inject Limits limits;
  @Inject TestClock clock;
  @Inject Translator translator;
  @Inject Warned warned;
  @Inject Limiter limiter;
  @Inject LimitPolicies policies;

  /** The second time nothing is known of the first. */
  @RepeatedTest(2)
  void eachMonthWarnsOnce() throws InterruptedException {
    warned.events.clear();
    clock.set(Instant.parse("2024-02-29T22:59:59.999999Z"));
    limits.assertAdmits(5, translator::translate).thenDenies().thenDenies();
    assertUsage(5, "2024-01-31T23:00:00Z", "2024-02-29T23:00:00Z");

    clock.set(Instant.parse("2024-02-29T23:00:00Z"));
    assertUsage(0, "2024-02-29T23:00:00Z", "2024-03-31T22:00:00Z");
    limits.assertAdmits(5, translator::translate).thenDenies();

    assertWarned("PT0.000001S");
    assertWarned("PT743H"); // the March of clocks that are set forward
  }

  private void assertWarned(String resetAfter) throws InterruptedException {
    NearLimit next = warned.events.poll(20, TimeUnit.SECONDS);
    assertThat(next).isNotNull();
    assertThat(next.used()).isEqualTo(4);
    assertThat(next.resetAfter()).isEqualTo(Duration.parse(resetAfter));
  }

  private void assertUsage(long used, String begin, String end) {
    List<Usage> usage =
        limiter.usage(policies.get("translations").forEveryone()).toCompletableFuture().join();
    assertThat(usage).hasSize(1);
    assertThat(usage.get(0).used()).isEqualTo(used);
    assertThat(usage.get(0).left()).isEqualTo(5 - used);
    assertThat(usage.get(0).begin()).contains(Instant.parse(begin));
    assertThat(usage.get(0).end()).contains(Instant.parse(end));
  }
}
