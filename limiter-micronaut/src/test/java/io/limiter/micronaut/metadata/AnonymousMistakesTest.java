// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/**
 * Settings for calls without a subject must have an effect; rules for them count only such calls.
 */
class AnonymousMistakesTest extends MistakesContract {

  private static final String NEVER_ANONYMOUS =
      "only limitType = USER_ID or HEADER and a resolver have anonymous callers: remove it";
  private static final String AROUND =
      "this rule counts the subject of the surrounding @RateLimiter: remove it";
  private static final String BOTH =
      "they replace the rules for calls without a subject, which anonymous = REJECT would deny: set rules, anonymousRules and anonymous = ADDRESS";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(AnonymousAddress.class, "@RateLimiter.anonymous = REJECT", NEVER_ANONYMOUS),
        arguments(AnonymousArgument.class, "@RateLimiter.anonymous = ADDRESS", NEVER_ANONYMOUS),
        arguments(AnonymousRulesOfAddress.class, "@RateLimiter.anonymousRules = ", NEVER_ANONYMOUS),
        arguments(AnonymousRulesAlone.class, "@RateLimiter.anonymousRules = [1-per-60s]", BOTH),
        arguments(AnonymousRulesEmpty.class, "@RateLimiter.anonymousRules = []", BOTH),
        arguments(AnonymousRulesDenied.class, "@RateLimiter.anonymousRules = [1-per-60s]", BOTH),
        arguments(
            AnonymousRuleWithType.class, "@RateLimiter.anonymousRules.limitType = GLOBAL", AROUND),
        arguments(
            DuplicateRuleWithHeader.class,
            "@RateLimiter.preventDuplicateRule.header = X-Api-Key",
            AROUND),
        arguments(
            DuplicateRuleWithSubject.class,
            "@RateLimiter.preventDuplicateRule.subject = #{phone}",
            AROUND));
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnonymousAddress")
  static class AnonymousAddress {
    @RateLimiter(anonymous = Anonymous.REJECT, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnonymousArgument")
  static class AnonymousArgument {
    @RateLimiter(subject = "#{phone}", anonymous = Anonymous.ADDRESS, rules = @RateRule)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnonymousRulesOfAddress")
  static class AnonymousRulesOfAddress {
    @RateLimiter(rules = @RateRule, anonymousRules = @RateRule(count = 1))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnonymousRulesAlone")
  static class AnonymousRulesAlone {
    @RateLimiter(limitType = LimitType.USER_ID, anonymousRules = @RateRule(count = 1))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnonymousRulesEmpty")
  static class AnonymousRulesEmpty {
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule,
        anonymousRules = {})
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnonymousRulesDenied")
  static class AnonymousRulesDenied {
    @RateLimiter(
        limitType = LimitType.USER_ID,
        anonymous = Anonymous.REJECT,
        rules = @RateRule,
        anonymousRules = @RateRule(count = 1))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "AnonymousRuleWithType")
  static class AnonymousRuleWithType {
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule,
        anonymousRules = @RateRule(limitType = LimitType.GLOBAL))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "DuplicateRuleWithHeader")
  static class DuplicateRuleWithHeader {
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(header = "X-Api-Key"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "DuplicateRuleWithSubject")
  static class DuplicateRuleWithSubject {
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(subject = "#{phone}"))
    void call(String phone) {}
  }
}
