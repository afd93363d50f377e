// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.PeriodAnchor;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Expressible;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.limiter.micronaut.definition.Refusals;
import io.limiter.micronaut.plan.PlannedCharge.CountedCalls;
import io.micronaut.core.annotation.AnnotationClassValue;
import io.micronaut.core.annotation.Internal;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Creates a rule from its definition. The name, unless it is written, is derived from the numbers.
 */
@Internal
public final class RuleReader {

  // The defaults of the annotations: definitions have only the members that are written.
  private static final long DEFAULT_COUNT = 10;
  public static final Duration DEFAULT_TIME = Duration.ofSeconds(60);
  private static final long DEFAULT_DUPLICATE_COUNT = 1;
  private static final Duration DEFAULT_DUPLICATE_TIME = Duration.ofSeconds(5);

  /** The algorithms with parameters. */
  private static final List<String> GROUPS =
      List.of("custom", "fixed-window", "token-bucket", "leaky-bucket");

  private final NamedBeans beans;
  private final LimiterConfiguration configuration;

  public RuleReader(NamedBeans beans, LimiterConfiguration configuration) {
    this.beans = beans;
    this.configuration = configuration;
  }

  /**
   * A rule that was read.
   *
   * @param named whether its name was written, not derived from the numbers
   * @param kind the kind of calls that it counts
   * @param anchor determines the day on which its windows begin; empty if it is the same for all
   */
  record RuleSpec(Rule rule, boolean named, CountedCalls kind, Optional<SubjectAnchor> anchor) {}

  /** The name of a rule by its members. */
  String nameOf(MemberSet rule) {
    return read(rule).rule().name();
  }

  RuleSpec read(MemberSet members) {
    long count = members.get(PolicyMember.COUNT).orElse(DEFAULT_COUNT);
    if (count == 0 && isListed(members)) {
      return closed(members);
    }
    if (count < 1) {
      throw members.mistake(PolicyMember.COUNT, count, "set it to 1 or more");
    }
    Refusals.RULE.check(members, Set.of());
    boolean inFlight =
        members.get(PolicyMember.ALGORITHM).orElse(null) == Algorithm.CONCURRENCY_LIMIT;
    Duration window =
        inFlight ? permitDuration(members) : time(members, PolicyMember.TIME, DEFAULT_TIME);
    Rule rule = rule(members, count, window);
    CountedCalls kind = kind(members, rule);
    return new RuleSpec(
        named(rule, members, PolicyMember.NAME),
        members.has(PolicyMember.NAME),
        kind,
        rule instanceof FixedWindowRule fixed && fixed.isBySubject()
            ? subjectAnchor(members)
            : Optional.empty());
  }

  /** Whether settings have the rule in a list: there a count of 0 is no slip in a single number. */
  private static boolean isListed(MemberSet members) {
    return written(members, PolicyMember.COUNT).key().endsWith("].count");
  }

  /** A rule that admits no call, whatever its algorithm: what it limits is closed. */
  private static RuleSpec closed(MemberSet members) {
    Rule rule = FixedWindowRule.of(0, time(members, PolicyMember.TIME, DEFAULT_TIME));
    return new RuleSpec(
        named(rule, members, PolicyMember.NAME),
        members.has(PolicyMember.NAME),
        CountedCalls.ALL,
        Optional.empty());
  }

  private static Rule named(Rule rule, MemberSet members, PolicyMember<String> member) {
    return members
        .get(member)
        .map(name -> members.origin(member, name).accepted(() -> rule.withName(name)))
        .orElse(rule);
  }

  /** The rule of a duplicate guard: a log, which can give a single submission back. */
  static Rule duplicateRule(MemberSet members) {
    long count = members.get(PolicyMember.DUPLICATE_COUNT).orElse(DEFAULT_DUPLICATE_COUNT);
    if (count < 1) {
      throw members.mistake(PolicyMember.DUPLICATE_COUNT, count, "set it to 1 or more");
    }
    if (count > SlidingWindowLogRule.MAX_COUNT) {
      throw members.mistake(
          PolicyMember.DUPLICATE_COUNT,
          count,
          "each submission is stored: set it to 1 to " + SlidingWindowLogRule.MAX_COUNT);
    }
    Duration time = time(members, PolicyMember.DUPLICATE_TIME, DEFAULT_DUPLICATE_TIME);
    return named(SlidingWindowLogRule.of(count, time), members, PolicyMember.DUPLICATE_NAME);
  }

  /** The time in a member, within the bounds of every window. */
  static Duration time(MemberSet members, PolicyMember<Duration> member, Duration otherwise) {
    Optional<Sourced<Duration>> written = members.find(member);
    if (written.isEmpty()) {
      return otherwise;
    }
    Duration time = written.get().value();
    Origin origin = written.get().origin();
    if (!origin.isSetting() && (time.isNegative() || time.isZero())) {
      throw origin.mistake("set it to 1 or more");
    }
    if (time.compareTo(Rule.MIN_WINDOW) < 0 || time.compareTo(Rule.MAX_WINDOW) > 0) {
      throw origin.mistake("set it to 1 ms to 366 days");
    }
    if (time.toNanosPart() % 1_000 != 0) {
      throw origin.mistake("use whole microseconds");
    }
    return time;
  }

  private static Duration permitDuration(MemberSet members) {
    Duration time = time(members, PolicyMember.TIME, ConcurrencyLimitRule.DEFAULT_PERMIT_DURATION);
    if (time.compareTo(ConcurrencyLimitRule.MIN_PERMIT_DURATION) < 0
        || time.compareTo(ConcurrencyLimitRule.MAX_PERMIT_DURATION) > 0) {
      throw written(members, PolicyMember.TIME)
          .mistake(
              "it is the time after which a concurrency permit expires. A permit is renewed each third of it, so it must be longer than a pause of the service; it is also the time for which a permit stays taken if the service dies: set it to 1 s to 1 h");
    }
    return time;
  }

  private static <T> Origin written(MemberSet members, PolicyMember<T> member) {
    return members.find(member).orElseThrow().origin();
  }

  private static CountedCalls kind(MemberSet members, Rule rule) {
    return switch (members.get(PolicyMember.COUNTS).orElse(Counts.ALL)) {
      case ALL ->
          rule.holdsPermits()
              ? CountedCalls.IN_FLIGHT
              : rule.waits() ? CountedCalls.WAITING : CountedCalls.ALL;
      case FAILURES -> CountedCalls.FAILURES;
      case SUCCESSES -> CountedCalls.SUCCESSES;
    };
  }

  private Rule rule(MemberSet rule, long count, Duration window) {
    String how = GROUPS.stream().filter(rule::hasGroup).findFirst().orElse("algorithm");
    Algorithm algorithm = rule.get(PolicyMember.ALGORITHM).orElse(Algorithm.SLIDING_WINDOW_LOG);
    boolean storesCalls =
        how.equals("algorithm")
            && (algorithm == Algorithm.SLIDING_WINDOW_LOG
                || algorithm == Algorithm.CONCURRENCY_LIMIT);
    long most = how.equals("custom") ? CustomRule.MAX_COUNT : Rule.MAX_COUNT;
    if (!storesCalls && count > most) {
      throw rule.mistake(PolicyMember.COUNT, count, "set it to 1 to " + most);
    }
    return switch (how) {
      case "custom" -> custom(rule, count, window);
      case "fixed-window" -> fixedWindow(rule, count, window);
      case "token-bucket" -> tokenBucket(rule, count, window);
      case "leaky-bucket" -> leakyBucket(rule, count, window);
      default ->
          switch (algorithm) {
            case SLIDING_WINDOW_LOG -> log(rule, count, window);
            case SLIDING_WINDOW_COUNTER -> SlidingWindowCounterRule.of(count, window);
            case FIXED_WINDOW -> FixedWindowRule.of(count, window);
            case TOKEN_BUCKET -> tokenBucket(rule, count, window);
            case CONCURRENCY_LIMIT -> concurrency(rule, count, window);
          };
    };
  }

  private SlidingWindowLogRule log(MemberSet rule, long count, Duration window) {
    if (count > SlidingWindowLogRule.MAX_COUNT) {
      throw rule.mistake(
          PolicyMember.COUNT,
          count,
          "an exact log stores every call: set it to at most %s, or use algorithm = SLIDING_WINDOW_COUNTER or TOKEN_BUCKET, which store only one or two numbers"
              .formatted(SlidingWindowLogRule.MAX_COUNT));
    }
    if (count > configuration.maxCount()) {
      throw rule.mistake(
          PolicyMember.COUNT,
          count,
          "an exact log stores every call, so counts are limited to %s: lower it, or raise %s.max-count, or use algorithm = SLIDING_WINDOW_COUNTER or TOKEN_BUCKET, which store only one or two numbers"
              .formatted(configuration.maxCount(), LimiterConfiguration.PREFIX));
    }
    return SlidingWindowLogRule.of(count, window);
  }

  private static ConcurrencyLimitRule concurrency(MemberSet rule, long count, Duration permit) {
    if (count > ConcurrencyLimitRule.MAX_COUNT) {
      throw rule.mistake(
          PolicyMember.COUNT,
          count,
          "each call in flight is stored separately: set it to 1 to "
              + ConcurrencyLimitRule.MAX_COUNT);
    }
    return ConcurrencyLimitRule.of(count, permit);
  }

  private static TokenBucketRule tokenBucket(MemberSet rule, long count, Duration interval) {
    long refill = rule.get(PolicyMember.REFILL).orElse(count);
    if (refill < 1 || refill > count) {
      throw rule.mistake(
          PolicyMember.REFILL,
          refill,
          "set it to 1 to %s, which is all that the bucket holds, or leave it out to use count; for a higher rate shorten the time"
              .formatted(count));
    }
    long initial = rule.get(PolicyMember.INITIAL).orElse(-1L);
    if (initial < -1 || initial > count) {
      throw rule.mistake(
          PolicyMember.INITIAL,
          initial,
          "set it to 0 to %s, which is its count, or leave it out to start with a full bucket"
              .formatted(count));
    }
    Origin written =
        rule.has(PolicyMember.REFILL)
            ? rule.origin(PolicyMember.REFILL, refill)
            : rule.origin(PolicyMember.COUNT, count);
    return written.accepted(
        () ->
            new TokenBucketRule(
                count + "-at-" + Rule.nameOf(refill, interval),
                count,
                refill,
                interval,
                !rule.isFalse(PolicyMember.GREEDY),
                initial == -1 ? count : initial));
  }

  private CustomRule custom(MemberSet rule, long count, Duration window) {
    Sourced<AnnotationClassValue<?>> own = rule.find(PolicyMember.CUSTOM).orElseThrow();
    NamedBeans.BeanRef<CustomAlgorithm> bean = beans.ofType(own, CustomAlgorithm.class);
    if (!bean.isSingleton()) {
      throw own.origin()
          .mistake("Redis is given the script of one bean of this type: make it a @Singleton");
    }
    List<Double> parameters = rule.get(PolicyMember.PARAMETERS).orElse(List.of());
    if (parameters.size() > CustomRule.MAX_PARAMETERS
        || !parameters.stream().allMatch(Double::isFinite)) {
      throw rule.mistake(
          PolicyMember.PARAMETERS,
          parameters,
          "use at most %s finite numbers".formatted(CustomRule.MAX_PARAMETERS));
    }
    return own.origin()
        .accepted(
            () ->
                CustomRule.of(
                    bean.object().get(), count, window, parameters.toArray(Double[]::new)));
  }

  private static LeakyBucketRule leakyBucket(MemberSet rule, long count, Duration window) {
    long queue = rule.get(PolicyMember.QUEUE).orElse(0L);
    if (queue < 1 || queue > LeakyBucketRule.MAX_QUEUE) {
      throw rule.mistake(
          PolicyMember.QUEUE,
          queue,
          "set it to 1 to %s, the number of calls that may wait for their turn; if no call is to wait, write algorithm = TOKEN_BUCKET with count = 1"
              .formatted(LeakyBucketRule.MAX_QUEUE));
    }
    Duration maxWait = time(rule, PolicyMember.MAX_WAIT, untilTheLast((int) queue, count, window));
    if (maxWait.compareTo(LeakyBucketRule.MAX_WAIT) > 0) {
      throw written(rule, PolicyMember.MAX_WAIT)
          .mistake("the client's connection stays open meanwhile: set it to at most 5 minutes");
    }
    PolicyMember<?> longest =
        rule.has(PolicyMember.MAX_WAIT) ? PolicyMember.MAX_WAIT : PolicyMember.QUEUE;
    return written(rule, longest)
        .accepted(
            () ->
                LeakyBucketRule.of(count, window, (int) queue, maxWait)
                    .withFair(!rule.isFalse(PolicyMember.FAIR)));
  }

  /** Whole milliseconds, rounded up, so that the queue's last place can be used. */
  private static Duration untilTheLast(int queue, long count, Duration window) {
    double millis = Math.ceil((double) window.toNanos() / 1e6 / count * queue);
    double longest = LeakyBucketRule.MAX_WAIT.toMillis();
    return Duration.ofMillis((long) Math.max(1, Math.min(millis, longest)));
  }

  private FixedWindowRule fixedWindow(MemberSet rule, long count, Duration window) {
    Optional<Alignment> alignment = alignment(rule);
    Optional<CalendarPeriod> calendar = rule.get(PolicyMember.CALENDAR);
    if (calendar.isPresent()) {
      Alignment by = alignment.orElseThrow();
      return FixedWindowRule.aligned(count, calendar.get(), by.zone()).alignedTo(by);
    }
    FixedWindowRule unaligned = FixedWindowRule.of(count, window);
    Origin time =
        rule.find(PolicyMember.TIME)
            .map(Sourced::origin)
            .orElseGet(() -> rule.origin(PolicyMember.TIME, DEFAULT_TIME));
    return time.accepted(() -> alignment.map(unaligned::alignedTo).orElse(unaligned));
  }

  private Optional<Alignment> alignment(MemberSet rule) {
    if (rule.isFalse(PolicyMember.ALIGNED)) {
      return Optional.empty();
    }
    Optional<ZoneId> zone = rule.find(PolicyMember.ZONE).map(RuleReader::zone);
    Optional<CalendarPeriod> calendar = rule.get(PolicyMember.CALENDAR);
    Alignment by = Alignment.to(zone.orElseGet(configuration::zone));
    by = calendar.map(by::each).orElse(by);
    Optional<Sourced<Expressible>> anchor = rule.find(PolicyMember.ANCHOR);
    if (anchor.filter(RuleReader::isOfSubject).isPresent()) {
      if (calendar.filter(each -> each != CalendarPeriod.DAY).isEmpty()) {
        throw anchor
            .get()
            .origin()
            .mistake(
                "a subject's day begins its weeks, months, quarters or years: set calendar to one of these, or write a local time such as 2024-01-01T00:00");
      }
      return Optional.of(by.forSubject(SubjectAnchor.USUAL));
    }
    return rule.isTrue(PolicyMember.ALIGNED)
            || zone.isPresent()
            || anchor.isPresent()
            || calendar.isPresent()
        ? Optional.of(anchor.map(RuleReader::anchor).map(by::from).orElse(by))
        : Optional.empty();
  }

  /** Whether an anchor is an expression or the name of a bean, not a time. */
  private static boolean isOfSubject(Sourced<Expressible> anchor) {
    String text = anchor.value().text();
    return !text.isEmpty() && !Character.isDigit(text.charAt(0));
  }

  private Optional<SubjectAnchor> subjectAnchor(MemberSet rule) {
    return rule.find(PolicyMember.ANCHOR)
        .map(
            written ->
                beans.expressionOrBean(
                    written,
                    SubjectAnchor.OfArguments::new,
                    PeriodAnchor.class,
                    ", or write a local time such as 2024-01-01T00:00, or in the annotation an expression over the arguments, such as \"#{customer.billingDay}\"",
                    SubjectAnchor.OfBean::new));
  }

  private static ZoneId zone(Sourced<String> zone) {
    try {
      return ZoneId.of(zone.value());
    } catch (DateTimeException unknown) {
      throw zone.origin()
          .mistake("there is no such time zone: write one such as UTC or Europe/Berlin");
    }
  }

  private static LocalDateTime anchor(Sourced<Expressible> written) {
    try {
      LocalDateTime anchor = LocalDateTime.parse(written.value().text());
      if (anchor.truncatedTo(ChronoUnit.MICROS).equals(anchor)) {
        return anchor;
      }
    } catch (DateTimeException unreadable) {
      // Rejected below.
    }
    throw written
        .origin()
        .mistake(
            "it is not a local time in whole microseconds: write one such as 2024-01-01T00:00");
  }
}
