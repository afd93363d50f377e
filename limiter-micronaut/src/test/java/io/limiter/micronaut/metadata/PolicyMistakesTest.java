// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** Invalid names, keys and subjects stop the start. */
class PolicyMistakesTest extends MistakesContract {

  private static final String ONLY_SUBJECT =
      "it is read once, when the service starts, and only subject, cost and the key of a duplicate may be expressions: write a text";

  /** 200 characters. */
  private static final String LONG =
      "0123456789012345678901234567890123456789012345678901234567890123456789"
          + "0123456789012345678901234567890123456789012345678901234567890123456789"
          + "012345678901234567890123456789012345678901234567890123456789";

  private static final String NAME_REMEDY =
      "give it 1 to 128 printable ASCII characters, without space, quote or backslash";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(QuoteInRuleName.class, "The rule name 'a\"b' is not usable", NAME_REMEDY),
        arguments(SpaceInRuleName.class, "The rule name 'a b' is not usable", NAME_REMEDY),
        arguments(LineInRuleName.class, "The rule name 'a\r\nb' is not usable", NAME_REMEDY),
        arguments(LongRuleName.class, "The rule name '" + LONG + "'", NAME_REMEDY),
        arguments(QuoteInPolicyName.class, "The policy name 'a\"b' is not usable", NAME_REMEDY),
        arguments(SpaceInPolicyName.class, "The policy name 'a b' is not usable", NAME_REMEDY),
        arguments(LineInPolicyName.class, "The policy name 'a\r\nb' is not usable", NAME_REMEDY),
        arguments(LongPolicyName.class, "The policy name '" + LONG + "'", NAME_REMEDY),
        arguments(
            OneKeyOtherRules.class,
            "@RateLimiter.key = 'sms' is shared with ",
            "which has other rules, bans otherwise, or counts others: give both the same, or other keys"),
        arguments(
            OneKeyOtherSubjects.class,
            "@RateLimiter.key = 'sms' is shared with ",
            "which has other rules, bans otherwise, or counts others: give both the same, or other keys"),
        arguments(
            UnknownPlaceholder.class,
            "@RateLimiter.key = ${no.such.property}: Could not resolve placeholder",
            "set it, or give it a default, as in ${name:default}"),
        arguments(
            BlankCode.class,
            "@RateLimiter.code =   : it is blank",
            "write a code, or leave it out"),
        arguments(
            ConstantSubject.class,
            "@RateLimiter.subject = phone: it is the same for every call",
            "write an expression over the arguments, such as \"#{phone}\", or use limitType = GLOBAL"),
        arguments(ExpressionAsKey.class, "@RateLimiter.key = #{…}", ONLY_SUBJECT),
        arguments(ExpressionAsMessage.class, "@RateLimiter.message = #{…}", ONLY_SUBJECT),
        arguments(
            UnknownMessageKey.class,
            "@RateLimiter.message = {sms.nowhere}: no message source has a message 'sms.nowhere'",
            "add it to a bundle of the application, or write a text"),
        arguments(
            UnknownArgument.class,
            "@RateLimiter.duplicate.message = Wait {seconds}: unknown argument {seconds}",
            "use {code}, {policy}, {violated}, {retryAfter}"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "QuoteInRuleName")
  static class QuoteInRuleName {
    @RateRule(name = "a\"b")
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "SpaceInRuleName")
  static class SpaceInRuleName {
    @RateRule(name = "a b")
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LineInRuleName")
  static class LineInRuleName {
    @RateRule(name = "a\r\nb")
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LongRuleName")
  static class LongRuleName {
    @RateRule(name = LONG)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "QuoteInPolicyName")
  static class QuoteInPolicyName {
    @RateLimiter(value = "a\"b", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "SpaceInPolicyName")
  static class SpaceInPolicyName {
    @RateLimiter(value = "a b", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LineInPolicyName")
  static class LineInPolicyName {
    @RateLimiter(value = "a\r\nb", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LongPolicyName")
  static class LongPolicyName {
    @RateLimiter(value = LONG, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OneKeyOtherRules")
  static class OneKeyOtherRules {
    @RateLimiter(key = "sms", rules = @RateRule(count = 1))
    void call() {}

    @RateLimiter(key = "sms", rules = @RateRule(count = 2))
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ConstantSubject")
  static class ConstantSubject {
    @RateLimiter(subject = "phone", rules = @RateRule)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ExpressionAsKey")
  static class ExpressionAsKey {
    @RateLimiter(key = "#{phone}", rules = @RateRule)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ExpressionAsMessage")
  static class ExpressionAsMessage {
    @RateLimiter(message = "Not #{phone} again", rules = @RateRule)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "UnknownMessageKey")
  static class UnknownMessageKey {
    @RateLimiter(message = "{sms.nowhere}", rules = @RateRule)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "UnknownArgument")
  static class UnknownArgument {
    @RateLimiter(duplicate = @Duplicate(message = "Wait {seconds}"), preventDuplicate = true)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OneKeyOtherSubjects")
  static class OneKeyOtherSubjects {
    @RateLimiter(key = "sms", header = "X-One", rules = @RateRule)
    void call() {}

    @RateLimiter(key = "sms", header = "X-Other", rules = @RateRule)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "UnknownPlaceholder")
  static class UnknownPlaceholder {
    @RateLimiter(key = "${no.such.property}", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BlankCode")
  static class BlankCode {
    @RateLimiter(code = "  ", rules = @RateRule)
    void call() {}
  }
}
