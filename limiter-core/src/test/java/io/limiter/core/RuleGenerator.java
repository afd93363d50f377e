// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * Generates rules of every algorithm, and bans, for one scenario: few numbers, so that rules of
 * several policies often share cells; awkward ones, which divide nothing; and the largest.
 */
public final class RuleGenerator {

  /** Clocks that are changed: by an hour, by half an hour, at midnight; and some that are not. */
  private static final String[] ZONES = {
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "America/Santiago",
    "Asia/Beirut",
    "Asia/Kathmandu"
  };

  private static final long[] WINDOWS = {
    1_000,
    7_919,
    1_000_000,
    1_000_001,
    60_000_000,
    3_600_000_000L,
    86_400_000_000L,
    31_622_400_000_000L
  };
  private static final long[] NEAR_WINDOWS = {1_000_000, 1_000_001, 2_000_000, 5_000_000};
  private static final long[] PERMIT_DURATIONS = {1_000_000, 1_000_001, 7_654_321, 60_000_000};
  private static final long[] ALIGNED_SECONDS = {
    1, 60, 900, 1_800, 2_880, 3_600, 5_400, 7_200, 10_800, 43_200, 86_400
  };
  private static final long[] ANCHORED_SECONDS = {7_919, 129_600, 432_000, 604_800};
  private static final int[] FEW = {1, 1, 2, 3, 5, 7, 10, 30};
  private static final int[] MANY = {30, 117, 118, 119, 120, 130, 150, 240, 500, 2_000};
  private static final long[] HUGE = {
    1_000_000, 999_999_937, 1_000_000_000, 10_000_000_000L, 700_000_000_000_001L, Rule.MAX_COUNT
  };
  private static final long MOST = SlidingWindowLogRule.MAX_COUNT - 3;
  private static final int[] QUEUES = {1, 2, 3, 5, 10, 20, 40};
  private static final long[] WAITS = {1_000, 7_919, 1_000_000, 1_000_001, 60_000_000, 300_000_000};
  private static final CustomAlgorithm FADING = new FadingCounter();

  private final Random random;
  private final boolean large;
  private final boolean logsOnly;
  private final Optional<ZoneId> zone;

  public RuleGenerator(Random random, boolean large) {
    this.random = random;
    this.large = large;
    this.logsOnly = random.nextInt(4) == 0;
    this.zone =
        logsOnly || random.nextInt(3) > 0
            ? Optional.empty()
            : Optional.of(ZoneId.of(ZONES[random.nextInt(ZONES.length)]));
  }

  /** The time of a clock change in the zone of aligned rules; empty if there is none. */
  public Optional<Instant> change() {
    Instant somewhen =
        Instant.parse("2015-01-01T00:00:00Z").plus(random.nextInt(4_000), ChronoUnit.DAYS);
    return zone.map(ZoneId::getRules)
        .map(rules -> rules.nextTransition(somewhen))
        .map(change -> change.getInstant());
  }

  public Rule rule() {
    return rule(pick(large ? MANY : FEW));
  }

  /** Concurrency limits whose permits may expire within a scenario. */
  public RuleStack concurrencyLimits() {
    int size = random.nextInt(4) == 0 ? 2 : 1;
    List<Rule> made = new ArrayList<>();
    while (made.size() < size) {
      int count = pick(large ? MANY : FEW);
      Duration permitDuration =
          Duration.of(PERMIT_DURATIONS[random.nextInt(PERMIT_DURATIONS.length)], ChronoUnit.MICROS);
      made.add(ConcurrencyLimitRule.of(count, permitDuration).withName("permits-" + made.size()));
    }
    return RuleStack.of(made);
  }

  /** A rule with this count; or, if it keeps numbers, now and then with a huge one. */
  public Rule rule(int usual) {
    if (logsOnly || random.nextInt(3) == 0) {
      return SlidingWindowLogRule.of(usual, window());
    }
    long count = random.nextInt(12) == 0 ? pick(HUGE) : usual;
    Rule made =
        switch (random.nextInt(zone.isPresent() ? 9 : 6)) {
          case 0 -> SlidingWindowCounterRule.of(count, window());
          case 1 -> FixedWindowRule.of(count, window());
          case 2 -> bucket(count);
          case 3 -> bucket(usual).byInterval();
          case 4 ->
              CustomRule.of(
                  FADING, Math.min(count, CustomRule.MAX_COUNT), window(), 2.0 + random.nextInt(2));
          case 5 -> leaky(usual);
          default -> aligned(count);
        };
    return made.withName(made.getClass().getSimpleName() + "-" + made.name());
  }

  private Duration window() {
    long window =
        large && random.nextInt(4) > 0
            ? pick(NEAR_WINDOWS)
            : WINDOWS[random.nextInt(random.nextInt(4) == 0 ? WINDOWS.length : 6)];
    return Duration.of(window, ChronoUnit.MICROS);
  }

  private TokenBucketRule bucket(long count) {
    while (true) {
      Duration window = window();
      long micros = MICROSECONDS.convert(window);
      long refill =
          count > Integer.MAX_VALUE && count > micros
              ? count / micros * micros // such large counts are exact in whole tokens alone
              : random.nextBoolean() ? pick(FEW) : Math.max(1, count / (1 + random.nextInt(4)));
      try {
        TokenBucketRule made = TokenBucketRule.of(count, refill, window);
        return random.nextInt(3) > 0
            ? made
            : made.startingWith(random.nextInt(3) == 0 ? 0 : random.nextLong(count));
      } catch (IllegalArgumentException unusable) {
        // It would take too long to fill, or could not be counted exactly: another one.
      }
    }
  }

  private LeakyBucketRule leaky(int count) {
    while (true) {
      Duration window = window();
      long wait =
          random.nextBoolean()
              ? pick(WAITS)
              : MICROSECONDS.convert(window) * (1 + random.nextInt(10)) / count;
      try {
        return LeakyBucketRule.of(count, window, pick(QUEUES), Duration.of(wait, ChronoUnit.MICROS))
            .withFair(random.nextBoolean());
      } catch (IllegalArgumentException unusable) {
        // It would let calls wait for too long or not at all: another one.
      }
    }
  }

  /** A bucket in which many calls wait, and now and then for too long. */
  public LeakyBucketRule queue() {
    int count = pick(FEW);
    Duration window = Duration.of(pick(NEAR_WINDOWS), ChronoUnit.MICROS);
    int queue = 3 + random.nextInt(80);
    long wait = MICROSECONDS.convert(window) * (queue / 2 + random.nextInt(4 * queue)) / count;
    long most = MICROSECONDS.convert(LeakyBucketRule.MAX_WAIT);
    LeakyBucketRule made =
        LeakyBucketRule.of(
                count, window, queue, Duration.of(Math.min(wait, most), ChronoUnit.MICROS))
            .withFair(random.nextBoolean());
    return made.withName("Queue-" + made.name());
  }

  private Rule aligned(long count) {
    ZoneId where = zone.orElseThrow();
    if (random.nextInt(3) == 0) {
      CalendarPeriod[] all = CalendarPeriod.values();
      CalendarPeriod each = all[random.nextInt(all.length)];
      LocalDateTime anchor = LocalDateTime.of(2024, 1, 1, 0, 0).plusHours(random.nextInt(9_000));
      FixedWindowRule made = FixedWindowRule.aligned(count, each, where);
      Alignment by = made.alignment().orElseThrow();
      return switch (random.nextInt(3)) {
        case 0 -> made;
        case 1 -> made.alignedTo(by.from(anchor));
        default -> each == CalendarPeriod.DAY ? made : made.alignedTo(by.forSubject(day()));
      };
    }
    if (random.nextInt(3) > 0) {
      return FixedWindowRule.aligned(count, Duration.ofSeconds(pick(ALIGNED_SECONDS)), where);
    }
    LocalDateTime anchor = LocalDateTime.of(2024, 1, 1, 0, 0).plusMinutes(30L * random.nextInt(3));
    return FixedWindowRule.of(count, Duration.ofSeconds(pick(ANCHORED_SECONDS)))
        .alignedTo(Alignment.to(where).from(anchor));
  }

  /** Mostly the same rules: some with another count, in another order, with another ban or none. */
  public RuleStack variant(RuleStack stack) {
    List<Rule> made = new ArrayList<>();
    for (Rule rule : stack.rules()) {
      long most = rule instanceof Rule.LoggedRule ? MOST : rule.count();
      long count = Math.max(1, Math.min(rule.count(), most) + random.nextInt(7) - 3);
      made.add(random.nextBoolean() ? rule : requeued(recounted(rule, count)));
    }
    if (random.nextBoolean()) {
      made = new ArrayList<>(RuleStack.of(made).forSubject(day()).rules());
    }
    if (random.nextInt(4) == 0) {
      Collections.shuffle(made, random);
    }
    return withBan(RuleStack.of(made).withCounting(stack.counting()));
  }

  private LocalDate day() {
    return LocalDate.of(2023, 1, 1).plusDays(random.nextInt(800));
  }

  /** The same departures, with another queue. */
  private Rule requeued(Rule rule) {
    return rule instanceof LeakyBucketRule leaky
        ? leaky.withQueue(pick(QUEUES)).withFair(random.nextBoolean())
        : rule;
  }

  private static Rule recounted(Rule rule, long count) {
    if (rule.waits()) { // another count is another rate, and so another bucket
      return rule;
    }
    try {
      return rule.withCount(count);
    } catch (IllegalArgumentException unusable) { // a bucket that would fill too slowly
      return rule;
    }
  }

  /** A ban that may begin and end within a scenario. */
  public RuleStack withBan(RuleStack stack) {
    if (random.nextInt(4) > 0) {
      return stack;
    }
    long window = MICROSECONDS.convert(stack.rules().get(0).window());
    BanRule ban = BanRule.of(1 + random.nextInt(4), upTo(2 * window), upTo(window));
    if (random.nextBoolean()) {
      return stack.withBan(ban);
    }
    Duration longest = ban.time().multipliedBy(1 + random.nextInt(9));
    boolean tooLong = longest.compareTo(Rule.MAX_WINDOW) > 0;
    return stack.withBan(ban.growing(1 + random.nextInt(3), tooLong ? ban.time() : longest));
  }

  private Duration upTo(long micros) {
    long most = Math.min(micros, MICROSECONDS.convert(Rule.MAX_WINDOW));
    return Duration.of(1_000 + random.nextLong(Math.max(1, most - 1_000)), ChronoUnit.MICROS);
  }

  private long pick(long[] array) {
    return array[random.nextInt(array.length)];
  }

  private int pick(int[] array) {
    return array[random.nextInt(array.length)];
  }
}
