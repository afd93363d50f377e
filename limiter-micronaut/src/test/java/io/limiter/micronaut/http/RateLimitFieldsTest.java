// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration.Format;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The fields follow from the state of each rule of a verdict, built-in or custom. */
class RateLimitFieldsTest {

  private static final Rule MINUTE = SlidingWindowLogRule.of(10, Duration.ofMinutes(1));
  private static final Rule HOUR = SlidingWindowLogRule.of(20, Duration.ofHours(1));
  private static final Rule SHORT = new SlidingWindowLogRule("half", 3, Duration.ofMillis(1500));

  private Set<Format> formats = Set.of(Format.DRAFT_11);
  private final MutableHttpResponse<?> response = HttpResponse.ok();

  private RateLimitFields fields() {
    return new RateLimitFields(new HeadersConfiguration(formats, true, 0, false, false), List.of());
  }

  @Test
  void everyRuleOfTheVerdictHasAnItemWhateverThePolicyHolds() {
    admit(
        rule(MINUTE, 3, Duration.ofMillis(20_001), null),
        rule(SHORT, 2, Duration.ofMillis(1_500), null));

    assertThat(response.header("RateLimit-Policy"))
        .isEqualTo("\"10-per-60s\";q=10;w=60, \"half\";q=3");
    assertThat(response.header("RateLimit")).isEqualTo("\"10-per-60s\";r=3;t=21, \"half\";r=2;t=2");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "DRAFT_11   | \"10-per-60s\";q=10;w=60, \"half\";q=3 | \"10-per-60s\";r=3;t=21, \"half\";r=2;t=2",
        "DRAFT_NEXT | \"10-per-60s\";q=10;w=60, \"half\";q=3 | \"10-per-60s\";a=3;w=21;c=1, \"half\";a=2;w=2;c=12",
        "DRAFT_7    | 10;w=60, 3                             | limit=3, remaining=2, reset=2",
      })
  void eachDraftStatesTheSameNumbers(Format format, String policy, String limit) {
    formats = Set.of(format);

    fields()
        .write(
            verdict(
                Outcome.ALLOWED,
                RuleVerdict.of(MINUTE)
                    .remaining(3)
                    .taken(1)
                    .effectiveWindow(Duration.ofMillis(20_001))
                    .build(),
                RuleVerdict.of(SHORT).remaining(2).taken(12).build()),
            response);

    assertThat(response.header("RateLimit-Policy")).isEqualTo(policy);
    assertThat(response.header("RateLimit")).isEqualTo(limit);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "DRAFT_NEXT | \"abnormal-usage-detected\";a=0;w=90;c=0, \"10-per-60s\";a=4;w=20;c=0",
        "DRAFT_7    | limit=10, remaining=0, reset=90",
      })
  void eachDraftStatesABan(Format format, String limit) {
    formats = Set.of(format);

    fields()
        .writeDenial(
            verdict(
                Outcome.BANNED,
                Optional.of(Duration.ofSeconds(90)),
                rule(MINUTE, 4, Duration.ofSeconds(20), null)),
            response);

    assertThat(response.header("RateLimit")).isEqualTo(limit);
    assertThat(response.header("Retry-After")).isEqualTo("90");
  }

  @Test
  void aDictionaryKeepsThatOfAServiceBehindWhichHasDenied() {
    formats = Set.of(Format.DRAFT_7);
    MutableHttpResponse<?> behind = HttpResponse.status(HttpStatus.TOO_MANY_REQUESTS);
    behind.header("RateLimit", "limit=9, remaining=0, reset=7");

    fields().write(verdict(Outcome.ALLOWED, rule(MINUTE, 3, Duration.ofSeconds(20), null)), behind);

    assertThat(behind.header("RateLimit")).isEqualTo("limit=9, remaining=0, reset=7");
  }

  @Test
  void aFormatOfTheApplicationIsWrittenInAddition() {
    RateLimitFormat own =
        (verdict, headers, deniedBehind) ->
            headers.set("X-Quota", verdict.rules().get(0).remaining() + " left");
    RateLimitFields both =
        new RateLimitFields(new HeadersConfiguration(formats, true, 0, false, false), List.of(own));

    both.write(verdict(Outcome.ALLOWED, rule(MINUTE, 3, Duration.ofSeconds(20), null)), response);

    assertThat(response.header("X-Quota")).isEqualTo("3 left");
    assertThat(response.header("RateLimit")).isEqualTo("\"10-per-60s\";r=3;t=20");
  }

  @Test
  void aWarningNamesTheRulesThatAreNearTheirLimitBesideThoseOfAnotherService() {
    Verdict verdict =
        verdict(
            Outcome.ALLOWED,
            RuleVerdict.of(MINUTE).remaining(2).warnAt(0.8).build(),
            RuleVerdict.of(SHORT).remaining(SHORT.count()).warnAt(0.8).build(),
            RuleVerdict.of(MINUTE.withName("day")).remaining(0).warnAt(0.8).build());
    response.header("X-RateLimit-Warning", "\"theirs\"");

    fields().write(verdict, response);
    assertThat(response.getHeaders().getAll("X-RateLimit-Warning")).containsExactly("\"theirs\"");
    new RateLimitFields(new HeadersConfiguration(Set.of(), false, 0, true, false), List.of())
        .write(verdict, response);
    assertThat(response.getHeaders().getAll("X-RateLimit-Warning"))
        .containsExactly("\"theirs\"", "\"10-per-60s\", \"day\"");
  }

  /** As in the responses of a gateway: what the service behind it has sent stays consistent. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        "200 | -          | -  | - | \"10-per-60s\";r=3;t=20             | -  | 3",
        "200 | \"a\";r=5;t=9 | -  | - | \"10-per-60s\";r=3;t=20, \"a\";r=5;t=9 | -  | 3",
        "200 | \"a\";r=5;t=9 | -  | 5 | \"10-per-60s\";r=3;t=20, \"a\";r=5;t=9 | -  | 5",
        "200 | -          | -  | 5 | \"10-per-60s\";r=3;t=20             | -  | 5",
        "429 | \"a\";r=0;t=9 | 9  | - | \"a\";r=0;t=9, \"10-per-60s\";r=3;t=20 | 9  | -",
        "429 | \"a\";r=0;t=9 | 9  | 0 | \"a\";r=0;t=9, \"10-per-60s\";r=3;t=20 | 9  | 0",
        "429 | \"a\";r=0;t=9 | -  | - | \"a\";r=0;t=9, \"10-per-60s\";r=3;t=20 | -  | -",
        "503 | -          | 30 | - | \"10-per-60s\";r=3;t=20             | 30 | -",
        "200 | ''         | -  | - | \"10-per-60s\";r=3;t=20             | -  | 3",
        "200 | a;r=5;t=9  | -  | - | \"10-per-60s\";r=3;t=20, a;r=5;t=9     | -  | 3",
        "200 | limit=9, remaining=5, reset=7 | - | - | \"10-per-60s\";r=3;t=20      | - | 3",
        "429 | limit=9, remaining=0, reset=7 | 7 | - | limit=9, remaining=0, reset=7 | 7 | -",
      })
  void anAdmittedCallKeepsTheFieldsOfAnotherService(
      int status,
      String limit,
      String retryAfter,
      String remaining,
      String limits,
      String keptRetryAfter,
      String keptRemaining) {
    formats = Set.of(Format.DRAFT_11, Format.X_RATE_LIMIT);
    MutableHttpResponse<?> behind = HttpResponse.status(HttpStatus.valueOf(status));
    setIfGiven(behind, "RateLimit", limit);
    setIfGiven(behind, "Retry-After", retryAfter);
    setIfGiven(behind, "X-RateLimit-Remaining", remaining);

    fields().write(verdict(Outcome.ALLOWED, rule(MINUTE, 3, Duration.ofSeconds(20), null)), behind);

    assertThat(behind.header("RateLimit")).isEqualTo(limits);
    assertThat(behind.header("Retry-After")).isEqualTo(keptRetryAfter);
    assertThat(behind.header("X-RateLimit-Remaining")).isEqualTo(keptRemaining);
    assertThat(behind.getHeaders().contains("X-RateLimit-Limit"))
        .as("a field of ours beside none of theirs")
        .isEqualTo("3".equals(keptRemaining));
  }

  private static void setIfGiven(MutableHttpResponse<?> response, String name, String value) {
    if (value != null) {
      response.header(name, value);
    }
  }

  /** Nor without the X-RateLimit fields of our own. */
  @Test
  void noFieldOfAnotherLimitStaysBesideRetryAfter() {
    response.header("X-RateLimit-Remaining", "7").header("X-RateLimit-Reset", "5");

    deny(rule(MINUTE, 0, Duration.ofSeconds(20), Duration.ofSeconds(20)));

    assertThat(response.header("Retry-After")).isEqualTo("20");
    assertThat(response.getHeaders().names())
        .doesNotContain("X-RateLimit-Remaining", "X-RateLimit-Reset");
  }

  @Test
  void aDenialIsStatedFirstAndInPlaceOfOtherSingleFields() {
    formats = Set.of(Format.DRAFT_11, Format.X_RATE_LIMIT);
    response.header("RateLimit", "\"a\";r=5;t=9").header("RateLimit", "\"b\";r=1;t=9");
    response.header("Retry-After", "5").header("X-RateLimit-Remaining", "7");

    deny(rule(MINUTE, 0, Duration.ofSeconds(20), Duration.ofSeconds(20)));

    assertThat(response.getHeaders().getAll("RateLimit"))
        .containsExactly("\"10-per-60s\";r=0;t=20, \"a\";r=5;t=9, \"b\";r=1;t=9");
    assertThat(response.getHeaders().getAll("Retry-After")).containsExactly("20");
    assertThat(response.getHeaders().getAll("X-RateLimit-Remaining")).containsExactly("0");
    assertThat(response.header("X-RateLimit-Limit")).isEqualTo("10");
    assertThat(response.header("X-RateLimit-Reset")).isEqualTo("20");
  }

  /** Its time to fill; 20 at 6 a second take 3.3 s, which the field cannot express. */
  @Test
  void theWindowOfABucketIsTheTimeThatItTakesToFill() {
    admit(
        rule(TokenBucketRule.of(20, 5, Duration.ofSeconds(1)), 3, Duration.ofMillis(200), null),
        rule(TokenBucketRule.of(20, 6, Duration.ofSeconds(1)), 3, Duration.ofMillis(167), null));

    assertThat(response.header("RateLimit-Policy"))
        .isEqualTo("\"20-at-5-per-1s\";q=20;w=4, \"20-at-6-per-1s\";q=20");
    assertThat(response.header("RateLimit"))
        .isEqualTo("\"20-at-5-per-1s\";r=3;t=1, \"20-at-6-per-1s\";r=3;t=1");
  }

  /** A permit duration is no window: places are free whenever calls end. */
  @Test
  void callsInFlightHaveNeitherAWindowNorATimeToWaitFor() {
    formats = Set.of(Format.DRAFT_11, Format.X_RATE_LIMIT);

    deny(inFlight(), rule(MINUTE, 3, Duration.ofMillis(20_001), null));

    assertThat(response.header("RateLimit-Policy"))
        .isEqualTo("\"3-in-flight\";q=3;qu=\"concurrent-requests\", \"10-per-60s\";q=10;w=60");
    assertThat(response.header("RateLimit"))
        .isEqualTo("\"3-in-flight\";r=0, \"10-per-60s\";r=3;t=21");
    assertThat(response.header("Retry-After")).isNull();
    assertThat(response.header("X-RateLimit-Limit")).isEqualTo("3");
    assertThat(response.header("X-RateLimit-Remaining")).isEqualTo("0");
    assertThat(response.header("X-RateLimit-Reset")).isNull();
  }

  @Test
  void anotherDenialStatesTheLeastWait() {
    formats = Set.of(Format.DRAFT_11, Format.X_RATE_LIMIT);

    deny(inFlight(), rule(MINUTE, 0, Duration.ofSeconds(9), Duration.ofSeconds(9)));

    assertThat(response.header("Retry-After")).isEqualTo("9");
    assertThat(response.header("X-RateLimit-Limit")).isEqualTo("10");
  }

  private static RuleVerdict inFlight() {
    Rule rule = ConcurrencyLimitRule.of(3);
    return RuleVerdict.of(rule).violated().resetAfter(rule.window()).build();
  }

  @ParameterizedTest
  @CsvSource({"30,60,60", "90,60,90", "90001,60,90001"})
  void aBannedCallerWaitsForTheBanAndForEveryRule(long ban, long rule, String seconds) {
    fields()
        .writeDenial(
            verdict(
                Outcome.BANNED,
                Optional.of(Duration.ofSeconds(ban)),
                rule(MINUTE, 0, Duration.ofSeconds(rule), Duration.ofSeconds(rule))),
            response);

    assertThat(response.header("Retry-After")).isEqualTo(seconds);
    assertThat(response.header("RateLimit-Policy"))
        .isEqualTo("\"abnormal-usage-detected\";q=0, \"10-per-60s\";q=10;w=60");
    assertThat(response.header("RateLimit"))
        .isEqualTo(
            "\"abnormal-usage-detected\";r=0;t=%s, \"10-per-60s\";r=0;t=%s".formatted(ban, rule));
  }

  /** The ban lasts longer than the rule's denial, which would end earlier. */
  @Test
  void olderFieldsStateTheBanToo() {
    formats = Set.of(Format.DRAFT_11, Format.X_RATE_LIMIT);

    fields()
        .writeDenial(
            verdict(
                Outcome.BANNED,
                Optional.of(Duration.ofSeconds(90)),
                rule(MINUTE, 4, Duration.ofSeconds(20), null)),
            response);

    assertThat(response.header("X-RateLimit-Remaining")).isEqualTo("0");
    assertThat(response.header("X-RateLimit-Reset")).isEqualTo("90");
  }

  @Test
  void olderFieldsStateTheRuleWithTheFewestUnitsLeft() {
    formats = Set.of(Format.DRAFT_11, Format.X_RATE_LIMIT);

    admit(rule(HOUR, 4, Duration.ofHours(1), null), rule(MINUTE, 3, Duration.ofSeconds(5), null));

    assertThat(response.header("X-RateLimit-Limit")).isEqualTo("10");
    assertThat(response.header("X-RateLimit-Remaining")).isEqualTo("3");
    assertThat(response.header("X-RateLimit-Reset")).isEqualTo("5");
  }

  @Test
  void theLongestWaitOfTheDenyingRulesIsStatedEvenIfAnotherHasFewerLeft() {
    formats = Set.of(Format.DRAFT_11, Format.X_RATE_LIMIT);

    deny(
        rule(SHORT, 0, Duration.ofSeconds(1), null),
        rule(MINUTE, 1, Duration.ofSeconds(9), Duration.ofSeconds(9)),
        rule(HOUR, 2, Duration.ofSeconds(70), Duration.ofSeconds(70)));

    assertThat(response.header("X-RateLimit-Limit")).isEqualTo("20");
    assertThat(response.header("X-RateLimit-Reset")).isEqualTo("70");
    assertThat(response.header("Retry-After")).isEqualTo("70");
  }

  @Test
  void aWaitOfNoTimeIsASecond() {
    deny(rule(MINUTE, 0, Duration.ZERO, Duration.ZERO));

    assertThat(response.header("Retry-After")).isEqualTo("1");
  }

  @ParameterizedTest
  @CsvSource({"0,1", "1,1", "1000,1", "1001,2", "9999,10"})
  void whileTheStoreIsAwayTheWaitIsUntilItIsAskedAgain(long millis, String seconds) {
    StoreException away = StoreException.notAsked("away", Duration.ofMillis(millis));

    fields().writeDenial(verdict(Outcome.UNAVAILABLE).fromFallback(away), response);

    assertThat(response.header("Retry-After")).isEqualTo(seconds);
  }

  @Test
  void whileItIsUnknownWhenTheStoreIsAskedAgainTheWaitIsASecond() {
    fields().writeDenial(verdict(Outcome.UNAVAILABLE), response);

    assertThat(response.header("Retry-After")).isEqualTo("1");
  }

  /** In one window that ends at 1,000,060 s by the clock of the store, whatever this one shows. */
  @ParameterizedTest
  @CsvSource({
    "1000000000000, 60000000, 1000060",
    "1000000000001, 59999999, 1000060",
    "1000059000000, 1000000, 1000060",
    "1000059999999, 1, 1000060",
    "1000060000000, 0, 1000060",
    "1000000000000, 60000001, 1000061"
  })
  void allCallsInOneWindowHaveOneTimeOfItsEnd(long decidedMicros, long leftMicros, String reset) {
    formats = Set.of(Format.X_RATE_LIMIT_EPOCH);
    RuleVerdict rule = rule(MINUTE, 3, Duration.of(leftMicros, ChronoUnit.MICROS), null);
    Policy policy = Policy.of("test", HOUR);

    fields()
        .write(
            Verdict.of(policy, Outcome.ALLOWED)
                .rules(List.of(rule))
                .decidedAtMicros(decidedMicros)
                .build(),
            response);

    assertThat(response.header("X-RateLimit-Reset")).isEqualTo(reset);
  }

  private void admit(RuleVerdict... rules) {
    fields().write(verdict(Outcome.ALLOWED, rules), response);
  }

  private void deny(RuleVerdict... rules) {
    fields().writeDenial(verdict(Outcome.LIMITED, rules), response);
  }

  private static Verdict verdict(Outcome outcome, RuleVerdict... rules) {
    return verdict(outcome, Optional.empty(), rules);
  }

  private static Verdict verdict(Outcome outcome, Optional<Duration> ban, RuleVerdict... rules) {
    Verdict.Builder verdict = Verdict.of(Policy.of("test", HOUR), outcome).rules(List.of(rules));
    ban.ifPresent(verdict::ban);
    return verdict.build();
  }

  /** One that denies has a wait. */
  private static RuleVerdict rule(Rule rule, long remaining, Duration effective, Duration wait) {
    RuleVerdict.Builder verdict =
        RuleVerdict.of(rule)
            .remaining(remaining)
            .resetAfter(rule.window())
            .effectiveWindow(effective);
    return (wait == null ? verdict : verdict.violatedFor(wait)).build();
  }
}
