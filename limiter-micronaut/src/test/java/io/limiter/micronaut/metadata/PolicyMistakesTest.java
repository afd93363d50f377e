// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThatNoException;

import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Error;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a limiter cannot do with its rules, and what stands in the wrong place, stops the start. */
class PolicyMistakesTest extends MistakesContract {

  /** 130 characters. */
  private static final String LONG =
      "01234567890123456789012345678901234567890123456789012345678901234"
          + "01234567890123456789012345678901234567890123456789012345678901234";

  private static final String ONE_KEY =
      "whose rules, ban, lease or subject differ: make them the same, or use different keys";

  private static final String LEASE = "set it to 10 ms to 10 s, such as 100ms, or to 0s for none";

  private static final String SHARE =
      "set it to a share above 0 to 1, such as 0.8, or to 0 for none";

  private static final String NO_LEASE =
      "allows no lease, since Redis has to decide each of its calls: remove the lease, or move the rule to a policy of its own";

  private static final String NAME_REMEDY =
      "use 1 to 128 printable ASCII characters, without space, quote or backslash";
  private static final String SEVERAL =
      "there are several @RateLimiters in the same place: put it into the rules of the one it belongs to";
  private static final String CONTRADICTS = "one contradicts the other: remove one of them";

  @Mistaken
  static class Policies {

    @Mistake({"The rule name 'a\"b' is invalid", NAME_REMEDY})
    @RateRule(name = "a\"b")
    void quoteInRuleName() {}

    @Mistake({"The rule name 'a\r\nb' is invalid", NAME_REMEDY})
    @RateRule(name = "a\r\nb")
    void lineInRuleName() {}

    @Mistake({"The policy name 'a b' is invalid", NAME_REMEDY})
    @RateLimiter(value = "a b", rules = @RateRule)
    void spaceInPolicyName() {}

    @Mistake({"The policy name '" + LONG + "'", NAME_REMEDY})
    @RateLimiter(value = LONG, rules = @RateRule)
    void longPolicyName() {}

    @Mistake({
      "@RateLimiter.key = ${no.such.property}: Could not resolve placeholder",
      "set it, or add a default, as in ${name:default}"
    })
    @RateLimiter(key = "${no.such.property}", rules = @RateRule)
    void unknownPlaceholder() {}

    @Mistake("@RateLimiter.code =   : it is blank: write a code, or leave it out")
    @RateLimiter(code = "  ", rules = @RateRule)
    void blankCode() {}

    @Mistake({
      "@RateLimiter.subject = phone: it is the same for every call",
      "write an expression over the arguments, such as \"#",
      "{phone}\", or use limitType = GLOBAL"
    })
    @RateLimiter(subject = "phone", rules = @RateRule)
    void constantSubject(String phone) {}

    @Mistake({
      "@RateLimiter.key = #",
      "{…}",
      "it is read once, when the service starts, and only subject, cost, condition, countIf, the anchor of a calendar and the key of a duplicate may be expressions: write a text"
    })
    @RateLimiter(key = "#{phone}", rules = @RateRule)
    void expressionAsKey(String phone) {}

    @Mistake({
      "@RateLimiter.message = {sms.nowhere}: no message source has a message 'sms.nowhere'",
      "add it to a bundle of the application, or write a text"
    })
    @RateLimiter(message = "{sms.nowhere}", rules = @RateRule)
    void unknownMessageKey(String phone) {}

    @Mistake(
        "@RateLimiter.duplicate.message = Wait {seconds}: unknown argument {seconds}: use {code}, {policy}, {violated}, {retryAfter}")
    @RateLimiter(duplicate = @Duplicate(message = "Wait {seconds}"), preventDuplicate = true)
    void unknownArgument(String phone) {}
  }

  @Mistaken
  static class Places {

    @Mistake({"@RateRule = {count=3}", SEVERAL})
    @RateLimiter(rules = @RateRule(count = 1))
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    @RateRule(count = 3)
    void besideSeveralLimiters() {}

    @Mistake({"@RateRule = {count=3}", SEVERAL})
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    @EachUser
    @RateRule(count = 3)
    void besideComposedLimiter() {}

    @Mistake({"@NoRateLimit = beside [@", CONTRADICTS})
    @NoRateLimit
    @RateRule(count = 1)
    void exemptAndRuled() {}

    @Mistake({"@NoRateLimit = beside [@", CONTRADICTS})
    @NoRateLimit
    @EachUser
    void exemptAndLimitedByComposed() {}

    @Mistake(
        "@RateRule.name = fair-use: another rule of this method has this name: use another name")
    @RateRule(name = "fair-use")
    @RateRule(name = "fair-use", limitType = LimitType.GLOBAL)
    void oneNameForTwoSubjects() {}

    @Mistake({
      "limitedErrorRoute(java.lang.IllegalStateException): @Error = a limited method: "
          + "error routes cannot be limited: remove the limit"
    })
    @Error
    @RateRule
    void limitedErrorRoute(IllegalStateException error) {}
  }

  @Mistaken
  @RateRule(count = 1)
  @RateRule(count = 2)
  @RateRule(count = 3)
  @RateRule(count = 4)
  static class NineOfOneSubject {
    @Mistake("9 rules in one stack: use 1 to 8")
    @RateRule(count = 5)
    @RateRule(count = 6)
    @RateRule(count = 7)
    @RateRule(count = 8)
    @RateRule(count = 9)
    void call() {}
  }

  @Mistaken
  static class Bans {

    @Mistake("@RateLimiter.ban.violations = 0: set it to 1 to 1000000")
    @RateLimiter(rules = @RateRule, ban = @Ban(violations = 0))
    void violationsZero() {}

    @Mistake("@RateLimiter.ban.violations = 1000001: set it to 1 to 1000000")
    @RateLimiter(rules = @RateRule, ban = @Ban(violations = 1_000_001))
    void violationsTooMany() {}

    @Mistake("@RateLimiter.ban.within = 0 SECONDS: set it to 1 or more")
    @RateLimiter(rules = @RateRule, ban = @Ban(within = 0))
    void withinZero() {}

    @Mistake("@RateLimiter.ban.time = 367 DAYS: set it to 1 ms to 366 days")
    @RateLimiter(rules = @RateRule, ban = @Ban(time = 367, timeUnit = TimeUnit.DAYS))
    void timeTooLong() {}

    @Mistake("@RateLimiter.ban.growth = 0: set it to 1 to 100")
    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 0))
    void growthZero() {}

    @Mistake("@RateLimiter.ban.growth = 101: set it to 1 to 100")
    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 101))
    void growthTooLarge() {}

    @Mistake(
        "@RateLimiter.ban.longest = 90 SECONDS: it has no effect without a growth: set growth, or remove it")
    @RateLimiter(rules = @RateRule, ban = @Ban(longest = 90))
    void longestWithoutGrowth() {}

    @Mistake(
        "@RateLimiter.ban.longest = PT30S: it is shorter than the first ban, PT1M: make it as long or longer")
    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 2, longest = 30))
    void longestShorter() {}

    @Mistake(
        "@RateLimiter.ban.longest = PT24H: it is shorter than the first ban, PT48H: make it as long or longer")
    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 2, time = 2, timeUnit = TimeUnit.DAYS))
    void longestByDefaultShorter() {}

    @Mistake("@RateLimiter.ban = @Ban, @Ban: only one is possible: remove the others")
    @RateLimiter(
        rules = @RateRule,
        ban = {@Ban(violations = 1), @Ban(violations = 2)})
    void twoBans() {}

    @Mistake(
        "@RateLimiter.ban = 5 within PT1M for PT1M: it has no rules that could deny calls: add rules, or remove it")
    @RateLimiter(preventDuplicate = true, ban = @Ban)
    void onlyTheGuard() {}

    @Mistake({
      "@RateLimiter.ban = 5 within PT1M for PT1M",
      "banning all of them would be an outage: add a rule that distinguishes subjects, or remove it"
    })
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule, ban = @Ban)
    void onlyEverybody() {}

    @Mistake({
      "@RateLimiter.ban = 5 within PT1M for PT1M",
      "banning all of them would be an outage"
    })
    @RateLimiter(rules = @RateRule(limitType = LimitType.GLOBAL), ban = @Ban)
    void onlyEverybodyByRules() {}

    @Mistake(
        "@RateLimiter.ban = 2 within PT1M for PT1M: another @RateLimiter of this method has ban = 1 within PT1M for PT30S × 2 up to PT24H for the same subject: use the same ban for both, or a separate key for one of them")
    @RateLimiter(rules = @RateRule(count = 1), ban = @Ban(violations = 1, time = 30, growth = 2))
    @RateLimiter(rules = @RateRule(count = 2), ban = @Ban(violations = 2))
    void otherBanOfOneSubject() {}
  }

  @Mistaken
  static class Leases {

    @Mistake("@RateLimiter.lease = soon: " + LEASE)
    @RateLimiter(lease = "soon", rules = @RateRule)
    void noDuration() {}

    @Mistake("@RateLimiter.lease = 100: " + LEASE)
    @RateLimiter(lease = "100", rules = @RateRule)
    void noUnit() {}

    @Mistake("@RateLimiter.lease = 9ms: " + LEASE)
    @RateLimiter(lease = "9ms", rules = @RateRule)
    void tooShort() {}

    @Mistake("@RateLimiter.lease = 10001ms: " + LEASE)
    @RateLimiter(lease = "10001ms", rules = @RateRule)
    void tooLong() {}

    @Mistake({"@RateLimiter.lease = #", "{…}", "it is read once, when the service starts"})
    @RateLimiter(lease = "#{lease}", rules = @RateRule)
    void expression(String lease) {}

    @Mistake(
        "@RateLimiter.lease = 2s: The rule '10-per-1s' has a lease of PT2S: use PT0.01S to PT1S")
    @RateLimiter(lease = "2s", rules = @RateRule(time = 1))
    void longerThanItsRuleAllows() {}

    @Mistake("@RateLimiter.lease = 100ms: the rule '1-per-60s-queue-2' " + NO_LEASE)
    @RateLimiter(
        lease = "100ms",
        rules = {@RateRule, @RateRule(count = 1, leakyBucket = @LeakyBucket(queue = 2))})
    void waiting() {}

    @Mistake("@RateLimiter.lease = 100ms: the rule '3-in-flight' " + NO_LEASE)
    @RateLimiter(lease = "100ms", rules = @RateRule)
    @ConcurrencyLimit(3)
    void inFlight() {}

    @Mistake({
      "@RateLimiter.lease = 100ms: The rule '10-per-60s' counts FAILURES and has a lease",
      "remove the lease"
    })
    @RateLimiter(lease = "100ms", rules = @RateRule(counts = Counts.FAILURES))
    void byOutcome() {}

    @Mistake("@RateLimiter.lease = 100ms: there is no rule to take units from: add rules")
    @RateLimiter(lease = "100ms", preventDuplicate = true)
    void onlyTheGuard() {}

    @Mistake(
        "@RateLimiter.lease = 100ms: another @RateLimiter of this method has lease = 1s for the same subject: use the same lease for both, or a separate key for one of them")
    @RateLimiter(lease = "1s", rules = @RateRule(count = 1))
    @RateLimiter(lease = "100ms", rules = @RateRule(count = 2))
    void otherLeaseOfOneSubject() {}
  }

  @Mistaken
  static class Warnings {

    @Mistake("@RateLimiter.warnAt = 80.0: " + SHARE)
    @RateLimiter(warnAt = 80, rules = @RateRule)
    void percent() {}

    @Mistake("@RateLimiter.warnAt = -0.1: " + SHARE)
    @RateLimiter(warnAt = -0.1, rules = @RateRule)
    void negative() {}

    @Mistake("@RateLimiter.warnAt = NaN: " + SHARE)
    @RateLimiter(warnAt = Double.NaN, rules = @RateRule)
    void noNumber() {}

    @Mistake(
        "@RateLimiter.warnAt = 0.8: there is no rule that could come near its limit: add rules")
    @RateLimiter(warnAt = 0.8, preventDuplicate = true)
    void onlyTheGuard() {}

    @Mistake(
        "@RateLimiter.warnAt = 0.8: another @RateLimiter of this method has warnAt = 0.5 for the same subject: use the same warnAt for both, or a separate key for one of them")
    @RateLimiter(warnAt = 0.5, rules = @RateRule(count = 1))
    @RateLimiter(warnAt = 0.8, rules = @RateRule(count = 2))
    void otherShareOfOneSubject() {}
  }

  /** Each second method shares the key of the one before it. */
  @Mistaken
  static class SharedKeys {
    @RateLimiter(key = "rules", rules = @RateRule(count = 1))
    void rules() {}

    @Mistake({"@RateLimiter.key = 'rules' is shared with ", ONE_KEY})
    @RateLimiter(key = "rules", rules = @RateRule(count = 2))
    void otherRules(String phone) {}

    @RateLimiter(key = "subjects", header = "X-One", rules = @RateRule)
    void subjects() {}

    @Mistake({"@RateLimiter.key = 'subjects' is shared with ", ONE_KEY})
    @RateLimiter(key = "subjects", header = "X-Other", rules = @RateRule)
    void otherSubjects(String phone) {}

    @RateLimiter(key = "bans", rules = @RateRule, ban = @Ban(violations = 1))
    void bans() {}

    @Mistake({"@RateLimiter.key = 'bans' is shared with ", ONE_KEY})
    @RateLimiter(key = "bans", rules = @RateRule, ban = @Ban(violations = 2))
    void otherBans(String phone) {}

    @RateLimiter(key = "leases", lease = "1s", rules = @RateRule)
    void leases() {}

    @Mistake({"@RateLimiter.key = 'leases' is shared with ", ONE_KEY})
    @RateLimiter(key = "leases", rules = @RateRule)
    void otherLeases(String phone) {}

    @RateLimiter(key = "outcomes", rules = @RateRule(counts = Counts.FAILURES))
    void outcomes() {}

    @Mistake({"@RateLimiter.key = 'outcomes' is shared with ", ONE_KEY})
    @RateLimiter(key = "outcomes", rules = @RateRule(counts = Counts.SUCCESSES))
    void otherOutcomes(String phone) {}
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
  @interface EachUser {}

  @Test
  void eightRulesOfEachSubjectAreFine() {
    assertThatNoException().isThrownBy(() -> Starts.inMemory("Sixteen").close());
  }

  @Singleton
  @Requires(property = "spec.name", value = "Sixteen")
  static class Sixteen {
    @RateLimiter(
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2),
          @RateRule(count = 3),
          @RateRule(count = 4),
          @RateRule(count = 5),
          @RateRule(count = 6),
          @RateRule(count = 7),
          @RateRule(count = 8)
        })
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2),
          @RateRule(count = 3),
          @RateRule(count = 4),
          @RateRule(count = 5),
          @RateRule(count = 6),
          @RateRule(count = 7),
          @RateRule(count = 8)
        })
    void call() {}
  }
}
