// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
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
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Invalid values are rejected, with the element, the value and the remedy; the bounds are valid.
 */
class RecordsTest {
  private static final Duration YEAR = Duration.ofDays(366);
  private static final Rule IN_FLIGHT = ConcurrencyLimitRule.of(3);
  private static final LeakyBucketRule TURNS = LeakyBucketRule.of(2, SECOND, 10, MINUTE);
  private static final BanRule BAN = BanRule.of(1, MINUTE, MINUTE);

  private static Duration micros(long number) {
    return Duration.of(number, ChronoUnit.MICROS);
  }

  private static RuleStack stack(Rule... rules) {
    return RuleStack.of(List.of(rules));
  }

  private static Policy guarded(RuleStack guard) {
    return new Policy("name", "limit", List.of(), Optional.of(guard));
  }

  private static Arguments rejected(ThrowingCallable call, String message) {
    return arguments(message, call);
  }

  private static void assertRejected(ThrowingCallable call, String message) {
    assertThatIllegalArgumentException().isThrownBy(call).withMessage(message);
  }

  static Stream<Arguments> rules() {
    ZoneId zone = ZoneId.of("Europe/Berlin");
    LocalDateTime monday = LocalDateTime.of(2024, 1, 1, 0, 0);
    FixedWindowRule week = FixedWindowRule.of(1, Duration.ofDays(7));
    return Stream.of(
        rejected(
            () -> rule(0, MINUTE),
            "The rule '0-per-60s' has count 0: use 1 to 1000000, since each unit is stored"),
        rejected(
            () -> rule(1_000_001, MINUTE),
            "The rule '1000001-per-60s' has count 1000001: use 1 to 1000000, since each unit is stored"),
        rejected(
            () -> new SlidingWindowLogRule("r", 1, Duration.ofNanos(1_000_001)),
            "The rule 'r' has a window of PT0.001000001S: use whole microseconds"),
        rejected(
            () -> SlidingWindowCounterRule.of(Rule.MAX_COUNT + 1, MINUTE),
            "The rule '1000000000000000-per-60s' has count 1000000000000000: use 1 to 999999999999999"),
        rejected(
            () -> FixedWindowRule.of(-1, MINUTE),
            "The rule '-1-per-60s' has count -1: use 0 to 999999999999999"),
        rejected(
            () -> week.alignedTo(Alignment.to(zone)),
            "The rule '1-per-604800s' has an aligned window of PT168H, which does not divide a day: use one that does, or set an anchor"),
        rejected(
            () -> FixedWindowRule.aligned(1, Duration.ofMinutes(7), zone),
            "The rule '1-per-420s' has an aligned window of PT7M, which does not divide a day: use one that does, or set an anchor"),
        rejected(
            () ->
                FixedWindowRule.of(1, Duration.ofDays(8))
                    .alignedTo(Alignment.to(zone).from(monday)),
            "The rule '1-per-691200s' has an aligned window of PT192H: use 7 days at most, or a period of the calendar, such as a month"),
        rejected(
            () ->
                new FixedWindowRule(
                    "r",
                    1,
                    Duration.ofDays(30),
                    Optional.of(Alignment.to(zone).each(CalendarPeriod.MONTH))),
            "The rule 'r' has windows of the calendar of PT720H: use PT744H for each month"),
        rejected(
            () -> week.alignedTo(Alignment.to(zone).forSubject(monday.toLocalDate())),
            "The rule '1-per-604800s' has windows that begin on a day of each subject: use a week, a month, a quarter or a year of the calendar"),
        rejected(
            () ->
                week.alignedTo(
                    Alignment.to(zone).each(CalendarPeriod.DAY).forSubject(monday.toLocalDate())),
            "The rule '1-per-604800s' has windows that begin on a day of each subject: use a week, a month, a quarter or a year of the calendar"),
        rejected(
            () -> week.alignedTo(Alignment.to(zone).from(monday.plusNanos(1))),
            "The rule '1-per-604800s' has the anchor 2024-01-01T00:00:00.000000001: use whole microseconds"),
        rejected(
            () -> ConcurrencyLimitRule.of(10_001),
            "The rule '10001-in-flight' has count 10001: use 1 to 10000, since each permit is stored"),
        rejected(
            () -> ConcurrencyLimitRule.of(0),
            "The rule '0-in-flight' has count 0: use 1 to 10000, since each permit is stored"),
        rejected(
            () -> ConcurrencyLimitRule.of(1, Duration.ofMillis(999)),
            "The rule '1-in-flight' has a permit duration of PT0.999S: use 1 s to 1 h, since a concurrency permit is renewed every third of it and has to survive a pause of its instance"),
        rejected(
            () -> ConcurrencyLimitRule.of(1, Duration.ofHours(1).plusMillis(1)),
            "The rule '1-in-flight' has a permit duration of PT1H0.001S: use 1 s to 1 h, since a concurrency permit is renewed every third of it and has to survive a pause of its instance"));
  }

  static Stream<Arguments> buckets() {
    return Stream.of(
        rejected(
            () -> TokenBucketRule.of(0, 1, MINUTE),
            "The rule '0-at-1-per-60s' has count 0: use 1 to 999999999999999"),
        rejected(
            () -> TokenBucketRule.of(10, 0, MINUTE),
            "The rule '10-at-0-per-60s' has a refill of 0: use 1 to 999999999999999"),
        rejected(
            () -> TokenBucketRule.of(1_000_000, Rule.MAX_COUNT + 1, MINUTE),
            "The rule '1000000-at-1000000000000000-per-60s' has a refill of 1000000000000000: use 1 to 999999999999999"),
        rejected(
            () -> TokenBucketRule.of(10, 1, MINUTE).startingWith(11),
            "The rule '10-at-1-per-60s' has 11 initial tokens: use 0 to 10, its capacity"),
        rejected(
            () -> TokenBucketRule.of(10, 1, MINUTE).startingWith(-1),
            "The rule '10-at-1-per-60s' has -1 initial tokens: use 0 to 10, its capacity"),
        rejected(
            () -> TokenBucketRule.of(1_000, 1, Duration.ofDays(1)),
            "The rule '1000-at-1-per-86400s' fills its bucket in PT24000H: use 1 ms to 366 days"),
        rejected( // 2^24 microseconds times 2^29 tokens are 2^53 parts
            () -> TokenBucketRule.of(1 << 29, 999_999_999, micros(1 << 24)),
            "The rule '536870912-at-999999999-per-16777216us' refills 999999999 in PT16.777216S, which cannot be counted exactly up to 536870912: its largest count is 536870911; use rounder numbers, or a shorter interval"),
        rejected(
            () -> TURNS.withCount(0),
            "The rule '2-per-1s-queue-10' has count 0: use 1 to 999999999999999"),
        rejected(
            () -> TURNS.withQueue(0),
            "The rule '2-per-1s-queue-10' has a queue of 0: use 1 to 10000; if calls must not wait, use a token bucket of 1"),
        rejected(
            () -> TURNS.withQueue(10_001),
            "The rule '2-per-1s-queue-10' has a queue of 10001: use 1 to 10000; if calls must not wait, use a token bucket of 1"),
        rejected(
            () -> LeakyBucketRule.of(2, MINUTE, 10, micros(999)),
            "The rule '2-per-60s-queue-10' makes calls wait up to PT0.000999S: use 1 ms to 5 minutes, in whole microseconds"),
        rejected(
            () -> LeakyBucketRule.of(2, MINUTE, 10, MINUTE.multipliedBy(5).plusNanos(1_000)),
            "The rule '2-per-60s-queue-10' makes calls wait up to PT5M0.000001S: use 1 ms to 5 minutes, in whole microseconds"),
        rejected(
            () -> LeakyBucketRule.of(2, MINUTE, 10, MINUTE.plusNanos(1)),
            "The rule '2-per-60s-queue-10' makes calls wait up to PT1M0.000000001S: use 1 ms to 5 minutes, in whole microseconds"),
        rejected(
            () -> LeakyBucketRule.of(7_919, YEAR, 10_000, MINUTE),
            "The rule '7919-per-31622400s-queue-10000' spaces 7919 in PT8784H, which cannot be counted exactly for waits up to PT1M: use rounder numbers, a shorter queue, or a shorter wait"),
        rejected(
            () -> LeakyBucketRule.of(34_000_001, Duration.ofDays(1), 10, micros(300_000_000)),
            "The rule '34000001-per-86400s-queue-10' spaces 34000001 in PT24H, which cannot be counted exactly for waits up to PT5M: use a count up to 30020829, rounder numbers, a shorter queue, or a shorter wait"),
        rejected( // times 1,000 places, and 1,992: 2^53
            () -> LeakyBucketRule.of(1, micros(9_007_199_254_739L), 999, micros(1_992)),
            "The rule '1-per-9007199254739us-queue-999' spaces 1 in PT2501H59M59.254739S, which cannot be counted exactly for waits up to PT0.001992S: use rounder numbers, a shorter queue, or a shorter wait"),
        rejected(
            () -> LeakyBucketRule.of(2_001, SECOND, 10, MINUTE),
            "The rule '2001-per-1s-queue-10' makes calls wait up to PT1M, which is 120060 departures: shorten the wait to 120000 departures at most"));
  }

  static Stream<Arguments> customRules() {
    return Stream.of(
        rejected(
            () -> CustomRule.of(new Named("Fading", 1), 1, MINUTE),
            "The algorithm name 'Fading' is invalid: use 1 to 32 lower-case letters, digits and hyphens"),
        rejected(
            () -> CustomRule.of(new Named("a", 9), 1, MINUTE),
            "The algorithm 'a' remembers 9 numbers: use 1 to 8"),
        rejected(
            () -> CustomRule.of(new Named("a", 0), 1, MINUTE),
            "The algorithm 'a' remembers 0 numbers: use 1 to 8"),
        rejected(
            () -> CustomRule.of(new Named("a", 1), 1, MINUTE, Double.NaN),
            "The rule '1-per-60s' has the parameters [NaN]: use at most 8 finite numbers"),
        rejected(
            () ->
                new CustomRule(
                    "own", 1, MINUTE, new Named("a", 1), Collections.nCopies(9, 2.0), MINUTE),
            "The rule 'own' has the parameters [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]: use at most 8 finite numbers"),
        rejected(
            () -> CustomRule.of(new Named("a", 1), 0, MINUTE),
            "The rule '0-per-60s' has count 0: use 1 to 1000000000"),
        rejected(
            () -> CustomRule.of(new Named("a", 1), 1_000_000_001, MINUTE),
            "The rule '1000000001-per-60s' has count 1000000001: use 1 to 1000000000"),
        rejected(
            () ->
                new CustomRule("own", 1, MINUTE, new Named("a", 1), List.of(), YEAR.plusMillis(1)),
            "The rule 'own' remembers a subject for PT8784H0.001S: use 1 ms to 366 days"));
  }

  private record Named(String name, int stateSize) implements CustomAlgorithm {
    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
      throw new UnsupportedOperationException();
    }

    @Override
    public String script() {
      return "";
    }
  }

  static Stream<Arguments> bans() {
    return Stream.of(
        rejected(() -> BanRule.of(0, MINUTE, MINUTE), "A ban after 0 violations: use 1 to 1000000"),
        rejected(
            () -> BanRule.of(1_000_001, MINUTE, MINUTE),
            "A ban after 1000001 violations: use 1 to 1000000"),
        rejected(
            () -> BanRule.of(1, Duration.ZERO, MINUTE),
            "A ban counts violations within PT0S: use 1 ms to 366 days"),
        rejected(
            () -> BanRule.of(1, MINUTE, Duration.ofNanos(1)),
            "A ban lasts PT0.000000001S: use 1 ms to 366 days"),
        rejected(() -> BAN.growing(101, MINUTE), "A ban grows by 101: use 1 to 100"),
        rejected(() -> BAN.growing(0, MINUTE), "A ban grows by 0: use 1 to 100"),
        rejected(
            () -> BAN.growing(2, SECOND),
            "The longest ban, PT1S, is shorter than the first, PT1M: make it as long or longer"),
        rejected(
            () -> BAN.growing(2, YEAR.plusMillis(1)),
            "A ban lasts at most PT8784H0.001S: use 1 ms to 366 days"),
        rejected(
            () -> stack(IN_FLIGHT).withBan(BAN),
            "The rule '3-in-flight' is a concurrency limit, which cannot have a ban, since it is unknown when a permit becomes free: put the ban on the other rules of the subject"));
  }

  static Stream<Arguments> stacks() {
    LeakyBucketRule slow = LeakyBucketRule.of(1, MINUTE, 1, MINUTE).withName("slow");
    LeakyBucketRule fast = LeakyBucketRule.of(9, MINUTE, 1, MINUTE).withName("fast");
    String oneWaits =
        "The rules 'slow', 'fast' all make one call wait: keep one of them, and let the others deny";
    return Stream.of(
        rejected(() -> stack(), "0 rules in one stack: use 1 to 8"),
        rejected(
            () ->
                RuleStack.of(LongStream.rangeClosed(1, 9).mapToObj(i -> rule(i, MINUTE)).toList()),
            "9 rules in one stack: use 1 to 8"),
        rejected(
            () -> stack(rule(1, MINUTE), rule(1, Duration.ofSeconds(60))),
            "Two rules of one stack are named '1-per-60s': remove or rename one of them"),
        rejected(
            () -> stack(IN_FLIGHT, rule(1, MINUTE)),
            "The rule '1-per-60s' shares a stack with a concurrency limit: put each into a stack of its own, and join their requests with LimitRequest.and"),
        rejected(
            () -> stack(IN_FLIGHT).withCounting(Counting.FAILURES),
            "The rule '3-in-flight' counts FAILURES: a concurrency limit counts every call, so use Counting.ALL"),
        rejected(
            () -> stack(slow).withCounting(Counting.SUCCESSES),
            "The rule 'slow' makes calls wait and counts SUCCESSES: use Counting.ALL, since a departure that has passed cannot be given back, and put rules that count by outcome into another stack"),
        claimed(stack(rule(1, SECOND), rule(2, MINUTE)), SECOND.dividedBy(2)),
        claimed(stack(rule(1, SECOND).withCount(2)), SECOND.dividedBy(2)),
        claimed(stack(FixedWindowRule.of(1, SECOND)), SECOND.dividedBy(2)),
        claimed(stack(rule(1, SECOND)).withBan(BAN), SECOND.dividedBy(2)),
        claimed(stack(rule(1, SECOND)).withCounting(Counting.FAILURES), SECOND.dividedBy(2)),
        claimed(stack(rule(1, SECOND)).withLease(SECOND), SECOND.dividedBy(2)),
        claimed(stack(rule(1, SECOND)), SECOND),
        claimed(stack(rule(1, SECOND)), SECOND.negated()),
        rejected(() -> stack(slow, rule(1, MINUTE), fast), oneWaits),
        rejected(
            () ->
                LimitRequest.of(Policy.of("one", slow), new Subject("user", "ada"))
                    .and(LimitRequest.of(Policy.of("other", fast), new Subject("ip", "::1"))),
            oneWaits));
  }

  private static Arguments claimed(RuleStack guard, Duration claim) {
    return rejected(
        () -> guard.withClaim(claim),
        "The rule '%s' has a claim of %s: use one sliding window log of 1 unit, whose window is longer"
            .formatted(guard.rules().get(0).name(), claim));
  }

  static Stream<Arguments> policies() {
    List<RuleStack> rules = List.of(stack(rule(1, MINUTE)));
    String countsAll = "use a rule that counts every submission; one that fails is released";
    return Stream.of(
        rejected(
            () -> new Policy(" ", "limit", rules, Optional.empty()),
            "A policy needs a name and a limit, but they are ' ' and 'limit'"),
        rejected(
            () -> new Policy("name", "", rules, Optional.empty()),
            "A policy needs a name and a limit, but they are 'name' and ''"),
        rejected(
            () -> new Policy("name", "limit", List.of(), Optional.empty()),
            "The policy 'name' has neither rules nor a duplicate guard: add one of them"),
        rejected(
            () -> guarded(stack(rule(1, MINUTE), rule(2, MINUTE))),
            "The duplicate guard of the policy 'name' has 2 rules: use exactly one"),
        rejected(
            () -> guarded(stack(rule(1, MINUTE)).withBan(BAN)),
            "The duplicate guard of the policy 'name' has a ban: remove it, since a duplicate is no violation"),
        rejected(
            () -> guarded(stack(TURNS)),
            "The duplicate guard of the policy 'name' has the rule '2-per-1s-queue-10', which makes calls wait: use a sliding window log"),
        rejected(
            () -> guarded(stack(IN_FLIGHT)),
            "The duplicate guard of the policy 'name' is %s: %s"
                .formatted(stack(IN_FLIGHT), countsAll)),
        rejected(
            () -> guarded(stack(rule(1, MINUTE)).withCounting(Counting.FAILURES)),
            "The duplicate guard of the policy 'name' is %s: %s"
                .formatted(stack(rule(1, MINUTE)).withCounting(Counting.FAILURES), countsAll)));
  }

  static Stream<Arguments> calls() {
    LimitRequest call = StoreHarness.call(rule(1, MINUTE));
    List<Charge> once = List.of(call.charge(0));
    List<Charge> twice = List.of(call.charge(0), call.charge(0));
    RuleStack one = stack(rule(1, MINUTE), rule(2, MINUTE.multipliedBy(2)));
    Policy two =
        new Policy("name", "limit", List.of(one, stack(rule(3, MINUTE))), Optional.empty());
    LimitRequest form = StoreHarness.submit("form", rule(2, MINUTE));
    LimitRequest other = LimitRequest.of(form.policy(), new Subject("user", "other"));
    String oneKey =
        "A request under the policy 'policy' charges one key twice: put the rules of one subject into one stack";
    return Stream.of(
        rejected(() -> call.withCost(0), "A call costs 0 units: use 1 to 1000000000"),
        rejected(
            () -> call.withCost(1_000_000_001),
            "A call costs 1000000001 units: use 1 to 1000000000"),
        rejected(
            () -> Completion.failed().withCost(-1),
            "A call has cost -1 units: use 0 to 1000000000"),
        rejected(
            () -> Completion.failed().withCost(1_000_000_001),
            "A call has cost 1000000001 units: use 0 to 1000000000"),
        rejected(
            () -> new Subject("ip", ""),
            "A subject of kind 'ip' has an empty value: all callers without a value would be counted as one subject"),
        rejected(
            () -> new LimitRequest(call.policy(), List.of(), Optional.empty()),
            "A request under the policy 'policy' charges nothing"),
        rejected(() -> new LimitRequest(call.policy(), twice, Optional.empty()), oneKey),
        rejected(() -> new LimitRequest(call.policy(), once, Optional.of(call.charge(0))), oneKey),
        rejected(
            () -> LimitRequest.of(two, Subject.global()),
            "The policy 'name' has 2 stacks of rules, one for each subject: create a policy and a request for each stack, and join the requests with LimitRequest.and"),
        rejected(
            () -> form.and(other),
            "The policies 'policy' and 'policy' both have a duplicate guard: one call is one submission, so keep the guard of one of them"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource({"rules", "buckets", "customRules", "bans", "stacks", "policies", "calls"})
  void anInvalidValueIsRejectedWithItsRemedy(String message, ThrowingCallable call) {
    assertRejected(call, message);
  }

  @Test
  void theValuesAtTheBoundsAreValid() {
    assertThat(SlidingWindowCounterRule.of(Rule.MAX_COUNT, YEAR).count())
        .isEqualTo(999_999_999_999_999L);
    assertThat(ConcurrencyLimitRule.of(10_000, Duration.ofHours(1)).count()).isEqualTo(10_000);
    assertThat(ConcurrencyLimitRule.of(1, SECOND).permitDuration()).isEqualTo(SECOND);
    assertThat(TokenBucketRule.of((1 << 29) - 1, 999_999_999, micros(1 << 24)).count())
        .isEqualTo((1 << 29) - 1);
    assertThat(CustomRule.of(new Named("a", 1), 1_000_000_000, MINUTE).count()).isPositive();
    assertThat(TokenBucketRule.of(5, 1, MINUTE).startingWith(0).initial()).isZero();
    assertThat(new TokenBucketRule("r", Rule.MAX_COUNT, Rule.MAX_COUNT, YEAR, false, 0).refill())
        .isEqualTo(Rule.MAX_COUNT);
    assertThat(LeakyBucketRule.of(30_020_829, Duration.ofDays(1), 10, micros(300_000_000)).count())
        .isEqualTo(30_020_829);
    assertThat(LeakyBucketRule.of(1, micros(9_007_199_254_739L), 999, micros(1_991)).queue())
        .isEqualTo(999);
    assertThat(LeakyBucketRule.of(7_200, YEAR, 10_000, MINUTE).count()).isEqualTo(7_200);
    assertThat(LeakyBucketRule.of(2_000, SECOND, 10, MINUTE).maxWait()).isEqualTo(MINUTE);
    assertThat(LeakyBucketRule.of(1, MINUTE, 1, Duration.ofMillis(1)).maxWait()).hasMillis(1);
    assertThat(CustomRule.of(new Named("a", 8), 1, Duration.ofDays(300)).memory()).hasDays(366);
    assertThat(stack(rule(1, MINUTE)).withLease(Duration.ofSeconds(10)).lease()).hasSeconds(10);
    Rule brief = rule(1, RuleStack.MIN_LEASE);
    assertThat(stack(brief).withLease(brief.window()).lease()).hasMillis(10);
    assertThat(stack(rule(1, MINUTE)).withClaim(MINUTE.minusNanos(1)).claim())
        .hasNanos(59_999_999_999L);
    assertThat(BanRule.of(1_000_000, MINUTE, MINUTE).growing(100, YEAR).growth()).isEqualTo(100);
    int most = 1_000_000_000;
    Charge charge = StoreHarness.call(rule(1, MINUTE)).withCost(most).charge(0);
    assertThat(Completion.succeeded().withCost(most).returned(charge)).isZero();
    assertThat(Completion.succeeded().withCosts(any -> -3).returned(charge)).isEqualTo(most);
  }

  @ParameterizedTest
  @CsvSource({
    "10, PT60S, 10-per-60s",
    "1, PT1H, 1-per-3600s",
    "3, PT0.5S, 3-per-500ms",
    "3, PT1.5S, 3-per-1500ms",
    "2, PT0.001001S, 2-per-1001us",
    "2, PT1.000001S, 2-per-1000001us",
    "1000000, PT8784H, 1000000-per-31622400s"
  })
  void aRuleIsNamedAfterItsNumbers(long count, Duration window, String name) {
    assertThat(SlidingWindowLogRule.of(count, window).name()).isEqualTo(name);
  }

  @Test
  void rulesOfAllAlgorithmsAreNamedAfterTheirNumbers() {
    assertThat(SlidingWindowCounterRule.of(10, MINUTE).name()).isEqualTo("10-per-60s");
    assertThat(FixedWindowRule.aligned(10, MINUTE, ZoneId.of("UTC")).name())
        .isEqualTo("10-per-60s");
    assertThat(FixedWindowRule.aligned(10, CalendarPeriod.QUARTER, ZoneId.of("UTC")).name())
        .isEqualTo("10-per-quarter");
    assertThat(TokenBucketRule.of(20, 5, MINUTE).name()).isEqualTo("20-at-5-per-60s");
    assertThat(TURNS.name()).isEqualTo("2-per-1s-queue-10");
    assertThat(IN_FLIGHT.name()).isEqualTo("3-in-flight");
    assertThat(CustomRule.of(new FadingCounter(), 10, MINUTE, 2.0).name()).isEqualTo("10-per-60s");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "a\"", "a\\b", "caf\u00e9", "a\nb", "\u007f", "\t"})
  void aNameIsPlain(String name) {
    assertRejected(
        () -> new SlidingWindowLogRule(name, 1, MINUTE),
        "The rule name '"
            + name
            + "' is invalid: use 1 to 128 printable ASCII characters, without space, quote or backslash");
  }

  @Test
  void aNameIsShort() {
    assertThat(RuleStack.requireName("policy", "n".repeat(128))).hasSize(128);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RuleStack.requireName("policy", "n".repeat(129)))
        .withMessageStartingWith("The policy name 'nnn");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Subject("", "x"))
        .withMessageStartingWith("The subject kind name ''");
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT0.000999S", "PT8784H0.000001S"})
  void aRuleHasAWindowWithinBounds(Duration window) {
    assertRejected(
        () -> new SlidingWindowLogRule("r", 1, window),
        "The rule 'r' has a window of " + window + ": use 1 ms to 366 days");
  }

  /** A bucket by interval is filled at the end of an interval. */
  @Test
  void theWindowOfABucketIsTheTimeInWhichItFills() {
    assertThat(TokenBucketRule.of(10, 3, MINUTE).window()).hasSeconds(200);
    assertThat(TokenBucketRule.of(10, 3, MINUTE).byInterval().window()).hasMinutes(4);
    TokenBucketRule large = TokenBucketRule.of(291_673, 1_000_000, YEAR); // fits in no long
    assertThat(large.window()).isEqualTo(micros(291_673L * 31_622_400));
  }

  @Test
  void anotherCapacityHasRoomForTheInitialTokens() {
    TokenBucketRule full = TokenBucketRule.of(10, 1, MINUTE);
    assertThat(full.withCount(20).initial()).isEqualTo(20);
    assertThat(full.startingWith(4).withCount(20).initial()).isEqualTo(4);
    assertThat(full.startingWith(4).withCount(3).initial()).isEqualTo(3);
  }

  @Test
  void aLeakyBucketWithAnotherCountKeepsItsQueueAndItsOrder() {
    assertThat(TURNS.capacity()).isEqualTo(11);
    assertThat(TURNS.fair()).isTrue();
    assertThat(TURNS.withFair(false).withCount(3))
        .isEqualTo(new LeakyBucketRule(TURNS.name(), 3, SECOND, 10, MINUTE, false));
  }

  @Test
  void onlyAPolicyWithRulesHasABanOrCountsByOutcome() {
    Policy guardOnly = guarded(stack(rule(1, MINUTE)));
    assertThatThrownBy(() -> guardOnly.withBan(BAN))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage(
            "The policy 'name' has no rules that could be violated: add rules, or remove the ban");
    assertThatThrownBy(() -> guardOnly.withCounting(Counting.FAILURES))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("The policy 'name' has no rules that could count FAILURES: add rules");
  }

  @Test
  void stacksOfEqualRulesBansAndCountingsAreEqual() {
    RuleStack plain = stack(rule(1, MINUTE), rule(2, MINUTE));
    assertThat(plain)
        .isEqualTo(stack(rule(1, MINUTE), rule(2, MINUTE)))
        .hasSameHashCodeAs(stack(rule(1, MINUTE), rule(2, MINUTE)))
        .isNotEqualTo(stack(rule(2, MINUTE), rule(1, MINUTE)))
        .isNotEqualTo(plain.withBan(BAN))
        .isNotEqualTo(plain.withCounting(Counting.FAILURES));
    RuleStack guard = stack(rule(1, MINUTE));
    assertThat(guard.withClaim(SECOND)).isNotEqualTo(guard).isEqualTo(guard.withClaim(SECOND));
    assertThat(guard.withClaim(SECOND).withClaim(Duration.ZERO)).isEqualTo(guard);
    RuleStack failures = plain.withBan(BAN).withCounting(Counting.FAILURES);
    assertThat(failures).hasToString(plain.rules() + ", " + BAN + ", FAILURES");
    assertThat(failures.withCounting(Counting.ALL)).isEqualTo(plain.withBan(BAN));
    assertThat(failures.withBan(BAN.growing(2, MINUTE)))
        .isNotEqualTo(failures)
        .returns(Counting.FAILURES, RuleStack::counting);
  }

  /** So an instance may list them in another order than the one that wrote the state. */
  @Test
  void theOrderOfTheNumbersInTheStateIsNotThatOfTheRules() {
    Rule slow = TokenBucketRule.of(5, 1, MINUTE);
    Rule fast = TokenBucketRule.of(5, 2, MINUTE);
    RuleStack one = stack(slow, fast);
    RuleStack other = stack(fast.withName("renamed"), rule(1, MINUTE), slow);
    assertThat(other.cellIndex(0)).isEqualTo(one.cellIndex(1));
    assertThat(other.cellIndex(2)).isEqualTo(one.cellIndex(0));
  }

  /** Otherwise it would start with few tokens after each ban. */
  @Test
  void onlyABucketThatDoesNotStartFullIsKeptForTheTimeOfABan() {
    TokenBucketRule bucket = TokenBucketRule.of(5, 1, MINUTE);
    for (Rule rule : List.of(rule(1, MINUTE), bucket, bucket.startingWith(5))) {
      assertThat(stack(rule).withBan(BAN).banMicros()).isZero();
    }
    RuleStack begins = stack(rule(1, MINUTE), bucket.startingWith(4));
    assertThat(begins.withBan(BAN.growing(2, YEAR)).banMicros()).isEqualTo(31_622_400_000_000L);
    assertThat(begins.banMicros()).isZero();
  }

  @Test
  void aStackStatesWhatItsStoresHaveToKeep() {
    RuleStack logs = stack(rule(1, SECOND), rule(3, MINUTE), rule(2, MINUTE), TURNS);
    assertThat(logs.longestLog()).as("the first of the longest").isEqualTo(1);
    assertThat(logs.custom()).isFalse();
    RuleStack own = stack(TURNS, CustomRule.of(new Named("a", 1), 1, MINUTE));
    assertThat(own.longestLog()).isEqualTo(-1);
    assertThat(own.custom()).isTrue();
  }

  /**
   * Each has a name and prepared commands of its own, so callers must not make as many as they
   * like.
   */
  @Test
  void theStacksOfSubjectsAreKeptUpToABound() {
    LocalDate day = LocalDate.of(2024, 1, 1);
    Alignment anchored = Alignment.to(ZoneId.of("UTC")).each(CalendarPeriod.WEEK).forSubject(day);
    Rule week = FixedWindowRule.of(1, CalendarPeriod.WEEK.longest()).alignedTo(anchored);
    Rule year =
        FixedWindowRule.of(9, CalendarPeriod.YEAR.longest())
            .alignedTo(anchored.each(CalendarPeriod.YEAR));
    RuleStack both = stack(week, rule(5, MINUTE), year).withWarnAt(0.5);
    assertThat(both.periodsOfSubject()).containsExactly(CalendarPeriod.WEEK, CalendarPeriod.YEAR);
    int kept = 0;
    for (int d = 0; d < 600; d++) {
      LocalDate begins = day.plusDays(d);
      RuleStack theirs = both.forSubject(begins);
      assertThat(theirs)
          .isEqualTo(
              stack(
                      ((FixedWindowRule) week).alignedTo(anchored.forSubject(begins)),
                      rule(5, MINUTE),
                      ((FixedWindowRule) year)
                          .alignedTo(anchored.each(CalendarPeriod.YEAR).forSubject(begins)))
                  .withWarnAt(0.5));
      kept += both.forSubject(begins) == theirs ? 1 : 0;
    }
    assertThat(kept).isEqualTo(512);
    RuleStack plain = stack(rule(1, MINUTE));
    assertThat(plain.forSubject(day)).isSameAs(plain);
    assertThat(plain.periodsOfSubject()).isEmpty();
  }

  @Test
  void aPolicyHasTheRulesAndTheBanOfAllItsStacks() {
    RuleStack one = stack(rule(1, MINUTE), rule(2, MINUTE.multipliedBy(2)));
    Policy policy =
        new Policy("name", "limit", List.of(one, stack(rule(3, MINUTE))), Optional.empty());
    assertThat(policy.rules()).extracting(Rule::count).containsExactly(1L, 2L, 3L);
    assertThat(policy.withBan(BAN).stacks()).hasSize(2).allMatch(each -> each.ban().isPresent());
  }

  @Test
  void aSubjectDoesNotShowItsValue() {
    assertThat(new Subject("user", "alice")).hasToString("Subject[user]");
  }

  @Test
  void aRequestListsTheGuardLastAndItsCostIsOne() {
    LimitRequest form = StoreHarness.submit("form", rule(9, MINUTE)).withCost(5);
    assertThat(form.allCharges()).extracting(Charge::cost).containsExactly(5, 1);
    assertThat(form.charge(1)).isEqualTo(form.duplicate().orElseThrow());

    LimitRequest call = StoreHarness.call("another subject", rule(1, MINUTE));
    assertThat(call.and(form).allCharges())
        .containsExactly(call.charge(0), form.charge(0), form.charge(1));
    assertThat(form.and(call).duplicate()).isEqualTo(form.duplicate());
  }

  @Test
  void aStackCountsByTheKeyOfItsClass() {
    RuleStack rules = stack(rule(1, MINUTE));
    StateKey all = StateKey.of("limit", Subject.global()).of(rules);
    assertThat(all.of(rules)).isSameAs(all);
    for (Counting counting : List.of(Counting.FAILURES, Counting.SUCCESSES)) {
      StateKey own = all.of(rules.withCounting(counting));
      assertThat(own).isNotEqualTo(all);
      assertThat(own.of(rules)).isEqualTo(all);
      assertThat(new Charge("limit", own, rules.withCounting(counting), 1).key()).isEqualTo(own);
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Charge("limit", all, stack(IN_FLIGHT), 1))
        .withMessageEndingWith(
            "cannot use the state key '%s', which is for other rules: use StateKey.of(limit, subject).of(stack)"
                .formatted(all.name()));
  }
}
