// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.micros;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.model.ZoneWindows;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Aligned fixed windows, including days on which clocks are changed. */
public interface AlignedWindowContract extends StoreHarness {

  private static LimitRequest daily(String zone) {
    return call(FixedWindowRule.aligned(3, Duration.ofDays(1), ZoneId.of(zone)));
  }

  private static LimitRequest each(Duration window, String zone) {
    return call(FixedWindowRule.aligned(3, window, ZoneId.of(zone)));
  }

  private void assertEndsIn(LimitRequest call, Duration rest) {
    acquire((int) remaining(call), call);
    assertRetryAfterIsExact(call, rest);
    assertThat(remaining(call)).isEqualTo(2);
  }

  @Test
  default void aMinuteIsThatOfTheClock() {
    at("2024-06-01T12:34:56.789012Z");
    LimitRequest call = each(MINUTE, "UTC");
    assertAllowed(call);
    assertThat(peek(call).rules().get(0).resetAfter()).isEqualTo(Duration.ofNanos(3_210_988_000L));
    assertThat(acquire(call).rules().get(0).effectiveWindow())
        .isEqualTo(Duration.ofNanos(3_210_988_000L));
    assertAllowed(call);
    assertRetryAfterIsExact(call, Duration.ofNanos(3_210_988_000L));
  }

  /**
   * A day is as long as the local clock makes it; these are the days of a change, those before and
   * after.
   */
  @ParameterizedTest
  @CsvSource({
    "Europe/Berlin, 2024-03-29T23:00:00Z, PT24H",
    "Europe/Berlin, 2024-03-30T23:00:00Z, PT23H",
    "Europe/Berlin, 2024-03-31T22:00:00Z, PT24H",
    "Europe/Berlin, 2024-10-26T22:00:00Z, PT25H",
    "Europe/Berlin, 2024-10-27T23:00:00Z, PT24H",
    "Australia/Lord_Howe, 2024-04-06T13:00:00Z, PT24H30M",
    "Australia/Lord_Howe, 2024-10-05T13:30:00Z, PT23H30M",
    "America/St_Johns, 2024-03-10T03:30:00Z, PT23H",
    "Asia/Kathmandu, 2024-03-10T18:15:00Z, PT24H",
    "America/Santiago, 2024-04-06T03:00:00Z, PT25H",
    "America/Santiago, 2024-09-08T04:00:00Z, PT23H"
  })
  default void aDayLastsFromMidnightToMidnight(String zone, String midnight, Duration length) {
    LimitRequest call = daily(zone);
    at(midnight);
    assertEndsIn(call, length);
  }

  @Test
  default void theHourThatClocksShowTwiceIsTwoWindows() {
    LimitRequest call = each(HOUR, "Europe/Berlin");
    at("2024-10-27T00:00:00Z"); // 02:00, summer time
    assertEndsIn(call, HOUR); // 02:00, winter time
    acquire(2, call);
    assertRetryAfterIsExact(call, HOUR); // 03:00
  }

  @Test
  default void twoHoursInWhichClocksAreSetBackToTheirBeginningAreTwoWindows() {
    LimitRequest call = each(HOUR.multipliedBy(2), "Europe/Berlin");
    at("2024-10-27T00:00:00Z"); // 02:00, summer time
    assertEndsIn(call, HOUR); // 02:00, winter time
    acquire(2, call);
    assertRetryAfterIsExact(call, HOUR.multipliedBy(2)); // 04:00
  }

  @Test
  default void aWindowInWhichClocksAreSetForwardIsShorter() {
    LimitRequest call = each(HOUR.multipliedBy(3), "Europe/Berlin");
    at("2024-03-30T23:00:00Z"); // 00:00
    assertEndsIn(call, HOUR.multipliedBy(2)); // 03:00, which comes after 01:59:59
    acquire(2, call);
    assertRetryAfterIsExact(call, HOUR.multipliedBy(3)); // 06:00
  }

  @Test
  default void aWindowWhoseBeginningNoClockShowsBeginsAtTheChange() {
    LimitRequest call = each(MINUTE.multipliedBy(48), "Europe/Berlin"); // 01:36, 02:24, 03:12
    at("2024-03-31T00:36:00Z"); // 01:36
    assertEndsIn(call, MINUTE.multipliedBy(24)); // 03:00
    Verdict second = acquire(call);
    assertAllowed(call);
    assertThat(refund(second)).isEqualTo(1);
    assertAllowed(call);
    assertRetryAfterIsExact(call, MINUTE.multipliedBy(12)); // 03:12
  }

  @Test
  default void clocksThatAreSetBackIntoAWindowThatHasEndedBeginAnother() {
    Alignment odd =
        Alignment.to(ZoneId.of("Europe/Berlin")).from(LocalDateTime.of(2024, 10, 27, 1, 40));
    LimitRequest call = call(FixedWindowRule.of(3, MINUTE.multipliedBy(50)).alignedTo(odd));
    at("2024-10-26T23:40:00Z"); // 01:40
    assertEndsIn(call, MINUTE.multipliedBy(50)); // 02:30, summer time
    acquire(2, call);
    assertRetryAfterIsExact(call, MINUTE.multipliedBy(30)); // 02:00, winter time
    acquire(2, call);
    assertRetryAfterIsExact(call, MINUTE.multipliedBy(30)); // 02:30
    acquire(2, call);
    assertRetryAfterIsExact(call, MINUTE.multipliedBy(50)); // 03:20
  }

  @Test
  default void aHalfHourChangeMovesNoFullHour() {
    LimitRequest call = each(HOUR, "Australia/Lord_Howe");
    at("2024-10-05T15:00:00Z"); // 01:30, half an hour before clocks go to 02:30
    assertEndsIn(call, MINUTE.multipliedBy(30));
    acquire(2, call);
    assertRetryAfterIsExact(call, MINUTE.multipliedBy(30)); // 03:00
  }

  @Test
  default void hoursBeginWhereTheZoneHasThem() {
    LimitRequest call = each(HOUR, "Asia/Kathmandu");
    at("2024-06-01T12:00:00Z"); // 17:45
    assertEndsIn(call, MINUTE.multipliedBy(15));
  }

  @Test
  default void aWeekMayBeginOnMonday() {
    Alignment mondays =
        Alignment.to(ZoneId.of("Europe/Berlin")).from(LocalDateTime.of(2024, 1, 1, 0, 0));
    LimitRequest call = call(FixedWindowRule.of(3, Duration.ofDays(7)).alignedTo(mondays));
    at("2024-10-25T22:00:00Z"); // Saturday, 00:00, before the night that is an hour longer
    assertEndsIn(call, Duration.ofDays(2).plusHours(1));
    acquire(2, call);
    assertRetryAfterIsExact(call, Duration.ofDays(7));
  }

  /** From the first moment of a period to the next one's: in days of 24 hours, and the rest. */
  @ParameterizedTest
  @CsvSource({
    "DAY, Europe/Berlin, 2024-01-01T00:00, 2024-03-30T23:00:00Z, PT23H",
    "DAY, America/Havana, 2024-01-01T00:00, 2024-11-03T04:00:00Z, PT25H",
    "DAY, Pacific/Apia, 2024-01-01T00:00, 2011-12-29T10:00:00Z, PT24H",
    "WEEK, Europe/Berlin, 2024-01-01T00:00, 2024-03-24T23:00:00Z, PT167H",
    "WEEK, Europe/Berlin, 2023-12-31T00:00, 2024-03-23T23:00:00Z, PT168H",
    "MONTH, UTC, 2024-01-01T00:00, 2023-02-01T00:00:00Z, P28D",
    "MONTH, UTC, 2024-01-01T00:00, 2024-02-01T00:00:00Z, P29D",
    "MONTH, Europe/Berlin, 2024-01-01T00:00, 2024-09-30T22:00:00Z, P31DT1H",
    "MONTH, UTC, 2024-01-31T00:00, 2024-01-31T00:00:00Z, P29D",
    "MONTH, UTC, 2024-01-31T00:00, 2024-02-29T00:00:00Z, P31D",
    "MONTH, UTC, 2024-01-31T00:00, 2023-02-28T00:00:00Z, P31D",
    "QUARTER, UTC, 2024-01-01T00:00, 2023-01-01T00:00:00Z, P90D",
    "QUARTER, UTC, 2024-01-01T00:00, 2023-07-01T00:00:00Z, P92D",
    "YEAR, Asia/Kathmandu, 2024-01-01T00:00, 2023-12-31T18:15:00Z, P366D",
    "YEAR, UTC, 2024-02-29T06:00, 2024-02-29T06:00:00Z, P365D",
    "YEAR, UTC, 2024-02-29T06:00, 2023-02-28T06:00:00Z, P366D"
  })
  default void aPeriodOfTheCalendarEndsWithTheNext(
      CalendarPeriod period, String zone, LocalDateTime anchor, String begin, Duration length) {
    FixedWindowRule rule = FixedWindowRule.aligned(3, period, ZoneId.of(zone));
    LimitRequest call = call(rule.alignedTo(rule.alignment().orElseThrow().from(anchor)));
    at(begin);
    advance(TICK.negated());
    acquire(3, call);
    assertThat(acquire(call).retryAfter()).contains(TICK);
    advance(TICK);
    assertEndsIn(call, length);
  }

  /**
   * All periods at once: in each month its beginning, a day, a change of clocks, and the
   * microsecond before each. Each rule has counted what was admitted since its period began by
   * java.time.
   */
  @ParameterizedTest
  @MethodSource("io.limiter.core.model.ZoneWindows#zones")
  default void twentyYearsOfACalendarAreThoseOfJavaTime(ZoneId zone) {
    Random random = new Random(zone.getId().hashCode());
    List<Alignment> alignments =
        Stream.of(CalendarPeriod.values()).map(Alignment.to(zone)::each).toList();
    LocalDateTime last = LocalDateTime.of(2024, 1, 31, 2, 30);
    alignments =
        Stream.concat(alignments.stream(), Stream.of(alignments.get(2).from(last))).toList();
    List<Rule> rules = new ArrayList<>();
    List<ZoneWindows> windows = new ArrayList<>();
    for (Alignment alignment : alignments) {
      CalendarPeriod each = alignment.calendar().orElseThrow();
      rules.add(
          FixedWindowRule.of(1_000_000, Duration.ofDays(1))
              .alignedTo(alignment)
              .withName(each + "-" + rules.size()));
      windows.add(new ZoneWindows(alignment, each.longest()));
    }
    LimitRequest call = call(rules.toArray(Rule[]::new));
    SortedSet<Long> times = new TreeSet<>();
    long begin = micros(Instant.EPOCH, Instant.parse("2009-12-15T00:00:00Z"));
    for (int month = 0; month < 241; month++) {
      ZoneWindows some = windows.get(random.nextInt(windows.size()));
      ZoneOffsetTransition change =
          zone.getRules().nextTransition(Instant.EPOCH.plus(begin, ChronoUnit.MICROS));
      long end = windows.get(2).end(begin);
      long within = begin + random.nextLong(end - begin);
      times.addAll(List.of(end - 1, end, some.end(within) - 1, some.end(within), within));
      if (change != null) {
        long at = micros(Instant.EPOCH, change.getInstant());
        times.addAll(List.of(at - 1, at, windows.get(0).end(at) - 1, windows.get(0).end(at)));
      }
      begin = end;
    }
    long[] begins = new long[rules.size()];
    long[] used = new long[rules.size()];
    for (long time : times) {
      at(Instant.EPOCH.plus(time, ChronoUnit.MICROS));
      Verdict verdict = acquire(call);
      for (int r = 0; r < begins.length; r++) {
        long began = windows.get(r).begin(time);
        used[r] = began == begins[r] ? used[r] + 1 : 1;
        begins[r] = began;
        RuleVerdict read = verdict.rules().get(r);
        assertThat(1_000_000 - read.remaining())
            .as("%s at %s", rules.get(r), now())
            .isEqualTo(used[r]);
        assertThat(MICROSECONDS.convert(read.resetAfter()))
            .as("the rest of %s at %s", rules.get(r), now())
            .isEqualTo(windows.get(r).end(time) - time);
      }
    }
    assertThat(times).hasSizeGreaterThan(900);
  }

  private static LimitRequest billed(CalendarPeriod each, String zone, LocalDate day) {
    Alignment calendar = Alignment.to(ZoneId.of(zone)).each(each);
    return call(FixedWindowRule.of(3, Duration.ofDays(1)).alignedTo(calendar.forSubject(day)));
  }

  private static LimitRequest billed(int day) {
    return billed(CalendarPeriod.MONTH, "UTC", LocalDate.of(2024, 1, day));
  }

  @Test
  default void aSubjectHasMonthsFromItsBillingDay() {
    at("2023-01-31T00:00:00Z");
    assertEndsIn(billed(31), Duration.ofDays(28));
    acquire(2, billed(31));
    assertRetryAfterIsExact(billed(31), Duration.ofDays(31)); // March 31
  }

  @Test
  default void daysThatBeginTheSamePeriodsAreEqual() {
    assertThat(billed(CalendarPeriod.WEEK, "UTC", LocalDate.of(2026, 11, 27)))
        .isEqualTo(billed(CalendarPeriod.WEEK, "UTC", LocalDate.of(2024, 1, 5)))
        .isNotEqualTo(billed(CalendarPeriod.WEEK, "UTC", LocalDate.of(2026, 11, 28)));
    assertThat(billed(CalendarPeriod.MONTH, "UTC", LocalDate.of(2025, 7, 31)))
        .isEqualTo(billed(31));
    assertThat(billed(CalendarPeriod.QUARTER, "UTC", LocalDate.of(2025, 8, 31)))
        .isEqualTo(billed(CalendarPeriod.QUARTER, "UTC", LocalDate.of(2019, 5, 31)))
        .isNotEqualTo(billed(CalendarPeriod.QUARTER, "UTC", LocalDate.of(2025, 7, 31)));
    assertThat(billed(CalendarPeriod.YEAR, "UTC", LocalDate.of(2020, 2, 29)))
        .isEqualTo(billed(CalendarPeriod.YEAR, "UTC", LocalDate.of(2024, 2, 29)))
        .isNotEqualTo(billed(CalendarPeriod.YEAR, "UTC", LocalDate.of(2023, 2, 28)));
  }

  @Test
  default void anotherBillingDayEndsNoPeriodEarly() {
    at("2024-11-01T00:00:00Z");
    acquire(2, billed(1));
    at("2024-11-10T00:00:00Z");
    assertEndsIn(billed(20), Duration.ofDays(40)); // with the 20th of December
  }

  @Test
  default void aBillingDayThatIsTodayEachDayIsNoWayToMore() {
    at("2024-11-01T12:00:00Z");
    int admitted = 0;
    for (int day = 1; day <= 30; day++) {
      admitted += acquire(billed(day)).allowed() ? 1 : 0;
      advance(Duration.ofDays(1));
    }
    assertThat(admitted).isEqualTo(3);
    assertAllowed(billed(1)); // December 1
  }

  /** What was refunded leaves the period where it was: a new one might begin earlier. */
  @Test
  default void aPeriodThatIsUnusedAgainStaysWhereItBegan() {
    at("2024-11-01T00:00:00Z");
    assertThat(refund(acquire(billed(1)))).isEqualTo(1);
    acquire(3, billed(20));
    at("2024-11-20T00:00:00Z");
    assertLimited(billed(20));
  }

  @Test
  default void aLeaseEndsAtMidnightWhereAnotherBillingDayMayBeginAPeriod() {
    at("2024-11-01T00:00:00Z");
    acquire(billed(1));
    at("2024-12-14T23:59:57Z");
    LimitStore.Grant grant =
        store().lease(billed(31).withCost(2), SECOND.multipliedBy(10)).toCompletableFuture().join();
    assertThat(grant.micros()).isEqualTo(3_000_000);
    assertThat(remaining(billed(31))).isZero();
    advance(SECOND.multipliedBy(3));
    assertThat(remaining(billed(15))).isEqualTo(3);
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "DAY")
  default void betweenTwoBeginningsOfASubjectIsAWholePeriodWhateverItsDays(CalendarPeriod each) {
    for (String zone : List.of("Europe/Berlin", "America/Santiago", "Australia/Lord_Howe")) {
      Random random = new Random(each.ordinal() + 31L * zone.hashCode());
      at(Instant.parse("2019-01-01T00:00:00Z").plus(Duration.ofHours(random.nextInt(9_000))));
      LocalDate day = LocalDate.of(2024, 1, 31);
      String who = each + zone;
      long begin = 0;
      long used = 0;
      List<Long> begins = new ArrayList<>();
      List<Long> times = new ArrayList<>();
      for (int step = 0; step < 600; step++) {
        if (random.nextInt(3) == 0) { // today, tomorrow, or any day
          LocalDate today = now().atZone(ZoneId.of(zone)).toLocalDate();
          day = today.plusDays(List.of(0, 1, random.nextInt(366)).get(random.nextInt(3)));
        }
        Rule rule = billed(each, zone, day).charge(0).stack().rules().get(0);
        ZoneWindows windows =
            new ZoneWindows(((FixedWindowRule) rule).alignment().orElseThrow(), rule.window());
        long time = micros(Instant.EPOCH, now());
        long whole = windows.begin(windows.begin(time) - 1);
        boolean begun =
            begin > whole + micros(Instant.EPOCH, Instant.EPOCH.plus(HOUR.multipliedBy(2)));
        long expected = begun ? used : 0;
        Verdict verdict = acquire(call(who, rule));
        RuleVerdict read = verdict.rules().get(0);
        assertThat(verdict.allowed()).as("%s at %s", rule, now()).isEqualTo(expected < 3);
        if (verdict.allowed()) {
          begin = begun ? begin : windows.begin(time);
          used = expected + 1;
          times.add(time);
          if (!begun) {
            begins.add(begin);
          }
        }
        assertThat(read.remaining()).as("%s at %s", rule, now()).isEqualTo(3 - used);
        // The next call is often the first of the next period, or the last of this one.
        Duration rest = read.resetAfter();
        advance(
            switch (random.nextInt(4)) {
              case 0 -> rest;
              case 1 -> rest.minus(TICK);
              case 2 -> Duration.ofDays(1);
              default -> Duration.ofHours(random.nextInt(1 + (int) each.longest().toHours() / 4));
            });
      }
      assertThat(begins).hasSizeGreaterThan(60);
      ZoneId where = ZoneId.of(zone);
      for (int i = 1; i < begins.size(); i++) {
        LocalDateTime last = LocalDateTime.ofInstant(instant(begins.get(i - 1)), where);
        LocalDateTime next = LocalDateTime.ofInstant(instant(begins.get(i)), where);
        // A month from the 31st on is shorter if it ends on the last day of a shorter month.
        assertThat(next.plusHours(2)).isAfterOrEqualTo(shortest(each, last));
      }
      for (int i = 6; i < times.size(); i++) {
        LocalDateTime first = LocalDateTime.ofInstant(instant(times.get(i - 6)), where);
        LocalDateTime last = LocalDateTime.ofInstant(instant(times.get(i)), where);
        assertThat(last.plusHours(2)).as("seven calls").isAfter(shortest(each, first));
      }
    }
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }

  private static LocalDateTime shortest(CalendarPeriod each, LocalDateTime time) {
    return switch (each) {
      case DAY -> time.plusDays(1);
      case WEEK -> time.plusDays(7);
      case MONTH -> time.plusMonths(1);
      case QUARTER -> time.plusMonths(3);
      case YEAR -> time.plusYears(1);
    };
  }

  @Test
  default void aLeaseEndsWithItsMonth() {
    LimitRequest call =
        call(FixedWindowRule.aligned(3, CalendarPeriod.MONTH, ZoneId.of("Europe/Berlin")));
    at("2024-10-31T22:59:57Z");
    LimitStore.Grant grant =
        store().lease(call.withCost(2), SECOND.multipliedBy(10)).toCompletableFuture().join();
    assertThat(grant.micros()).isEqualTo(3_000_000);
    assertThat(remaining(call)).isEqualTo(1);
    advance(SECOND.multipliedBy(3));
    assertThat(remaining(call)).isEqualTo(3);
  }

  @Test
  default void aRefundOfLastMonthGivesNothingThisMonth() {
    LimitRequest call =
        call(FixedWindowRule.aligned(3, CalendarPeriod.MONTH, ZoneId.of("Europe/Berlin")));
    at("2024-10-31T22:59:59Z");
    Verdict lastMonth = acquire(call);
    advance(SECOND);
    Verdict thisMonth = acquire(call);
    assertThat(refund(lastMonth)).isZero();
    assertThat(remaining(call)).isEqualTo(2);
    assertThat(refund(thisMonth)).isEqualTo(1);
    assertThat(peek(call).rules().get(0).effectiveWindow()).isEqualTo(Duration.ofDays(30));
  }

  @Test
  default void anUnusedWindowReturnsItsEnd() {
    LimitRequest call = daily("Europe/Berlin");
    at("2024-10-27T12:00:00Z");
    assertThat(peek(call).rules().get(0).resetAfter()).isZero();
    assertThat(peek(call).rules().get(0).effectiveWindow()).isEqualTo(HOUR.multipliedBy(11));
  }

  @Test
  default void aRefundOfYesterdayGivesNothingToday() {
    LimitRequest call = daily("Europe/Berlin");
    at("2024-10-27T22:59:00Z");
    Verdict yesterday = acquire(call);
    advance(MINUTE);
    Verdict today = acquire(call);
    assertThat(refund(yesterday)).isZero();
    assertThat(remaining(call)).isEqualTo(2);
    assertThat(refund(today)).isEqualTo(1);
    assertThat(remaining(call)).isEqualTo(3);
  }
}
