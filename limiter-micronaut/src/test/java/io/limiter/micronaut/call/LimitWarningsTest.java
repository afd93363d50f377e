// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.testing.Plans;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When a subject near a limit is reported, by the clock of the store. */
class LimitWarningsTest {

  private static final Rule MONTH =
      FixedWindowRule.aligned(10, CalendarPeriod.MONTH, ZoneOffset.UTC);
  private static final Rule HOUR = FixedWindowRule.of(5, Duration.ofHours(1));
  private static final Policy POLICY = Policy.of("policy", MONTH, HOUR).withWarnAt(0.8);
  private static final LimitPlan PLAN = Plans.of(POLICY.stacks().get(0));

  private final List<String> warnings = new ArrayList<>();
  private long micros = 1_700_000_000_000_000L;

  private final LimitWarnings near =
      new LimitWarnings(
          List.of(
              warning ->
                  warnings.add(
                      warning.policy()
                          + ' '
                          + warning.method()
                          + ' '
                          + warning.rule().rule().name())));

  private void call(String who, long leftOfMonth, Duration endOfMonth, long leftOfHour) {
    near.decided(
        PLAN,
        LimitRequest.of(POLICY, new Subject("user", who)),
        Verdict.of(POLICY, Outcome.ALLOWED)
            .rules(
                List.of(
                    verdict(MONTH, leftOfMonth, endOfMonth),
                    verdict(HOUR, leftOfHour, Duration.ofHours(1))))
            .decidedAtMicros(micros)
            .build());
  }

  private static RuleVerdict verdict(Rule rule, long left, Duration end) {
    return RuleVerdict.of(rule).remaining(left).resetAfter(end).warnAt(0.8).build();
  }

  @Test
  void eachRuleOfASubjectIsReportedOnceAPeriod() {
    Duration month = Duration.ofDays(31);
    call("ann", 3, month, 2);
    assertThat(warnings).isEmpty();
    call("ann", 2, month, 2);
    assertThat(warnings).containsExactly("policy method 10-per-month");
    call("ann", 1, month, 1);
    assertThat(warnings.subList(1, warnings.size())).containsExactly("policy method 5-per-3600s");

    micros += month.toSeconds() * 1_000_000 - 1;
    call("ann", 0, Duration.ofNanos(1_000), 5);
    assertThat(warnings).hasSize(2);
    micros++;
    call("ann", 2, month, 5);
    assertThat(warnings).hasSize(3);
    call("ben", 2, month, 5);
    assertThat(warnings).as("another subject").hasSize(4);
  }

  /** As of a lease: then it is the time of this process. */
  @Test
  void aVerdictOfAnUnknownTimeIsOneOfNow() {
    micros = 0;
    call("ann", 0, Duration.ofDays(1), 5);
    call("ann", 0, Duration.ofDays(1), 5);
    assertThat(warnings).hasSize(1);
    micros = (System.currentTimeMillis() + Duration.ofHours(23).toMillis()) * 1_000;
    call("ann", 0, Duration.ofHours(1), 5);
    assertThat(warnings).hasSize(1);
    micros += 2 * 3_600_000_000L;
    call("ann", 0, Duration.ofDays(1), 5);
    assertThat(warnings).hasSize(2);
  }

  @Test
  void theOldestReportIsForgottenFirst() {
    for (int i = 0; i < LimitWarnings.MAX_REMEMBERED; i++) {
      call("user " + i, 0, Duration.ofDays(31), 5);
    }
    call("user 0", 0, Duration.ofDays(31), 5);
    assertThat(warnings).hasSize(LimitWarnings.MAX_REMEMBERED);

    call("one more", 0, Duration.ofDays(31), 5);
    call("user 1", 0, Duration.ofDays(31), 5);
    assertThat(warnings).as("all others are known").hasSize(LimitWarnings.MAX_REMEMBERED + 1);
    call("user 0", 0, Duration.ofDays(31), 5);
    assertThat(warnings).hasSize(LimitWarnings.MAX_REMEMBERED + 2);
  }

  @Test
  void aReportInANewPeriodIsTheYoungest() {
    call("first", 0, Duration.ofHours(1), 5);
    call("second", 0, Duration.ofDays(31), 5);
    micros += 3_600_000_000L;
    call("first", 0, Duration.ofDays(31), 5);
    for (int i = 1; i < LimitWarnings.MAX_REMEMBERED; i++) {
      call("user " + i, 0, Duration.ofDays(31), 5);
    }
    warnings.clear();
    call("first", 0, Duration.ofDays(31), 5);
    assertThat(warnings).isEmpty();
    call("second", 0, Duration.ofDays(31), 5);
    assertThat(warnings).hasSize(1);
  }
}
