// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The subject must be specified once, and must be determinable when it is counted. */
class SubjectMistakesTest extends MistakesContract {

  private static final String NAME_IT = "name the header, such as header = \"X-Api-Key\"";
  private static final String NEVER_ANONYMOUS =
      "only limitType = USER_ID or HEADER and a resolver have anonymous callers: remove it";
  private static final String AROUND = "this rule counts the subject of its policy: remove it";
  private static final String BOTH =
      "they replace the rules for calls without a subject, which anonymous = REJECT would deny: set rules, these and anonymous = ADDRESS";
  private static final String MEMBER = "@RateLimiter.beforeSecurity = true";
  private static final String APART =
      "count the address or a header, or put this limit on a method that the route calls";

  @Mistaken
  static class Subjects {

    @Mistake({"@RateLimiter.header = \"\"", NAME_IT})
    @RateLimiter(limitType = LimitType.HEADER, rules = @RateRule)
    void headerMissing() {}

    @Mistake({"@RateRule.header = \"\"", NAME_IT})
    @RateRule(limitType = LimitType.HEADER, header = "")
    void headerEmpty() {}

    @Mistake({"@RateLimiter.header = \"\"", NAME_IT})
    @RateLimiter(header = "${no.such.header:}", rules = @RateRule)
    void headerResolvedToNothing() {}

    @Mistake(
        "@RateLimiter.header = X Api Key: no header can have this name: write one such as X-Api-Key")
    @RateLimiter(header = "X Api Key", rules = @RateRule)
    void headerIllegal() {}

    @Mistake(
        "@RateLimiter.limitType = USER_ID: the header already defines who is counted: remove one of them, or write IP if its value is an address")
    @RateLimiter(limitType = LimitType.USER_ID, header = "X-Api-Key", rules = @RateRule)
    void headerByUser() {}

    @Mistake(
        "@RateLimiter.header = X-Api-Key: subject already defines who is counted: remove one of them")
    @RateLimiter(subject = "#{phone}", header = "X-Api-Key", rules = @RateRule)
    void subjectAndHeader(String phone) {}

    @Mistake({
      "@RateLimiter.resolver = ",
      "subject already defines who is counted: remove one of them"
    })
    @RateLimiter(subject = "#{phone}", resolver = NoBean.class, rules = @RateRule)
    void subjectAndResolver(String phone) {}

    @Mistake(
        "@RateLimiter.header = X-Api-Key: resolver already defines who is counted: remove one of them")
    @RateLimiter(resolver = NoBean.class, header = "X-Api-Key", rules = @RateRule)
    void resolverAndHeader() {}

    @Mistake(
        "@RateLimiter.limitType = GLOBAL: the resolver already defines who is counted: remove one of them")
    @RateLimiter(resolver = NoBean.class, limitType = LimitType.GLOBAL, rules = @RateRule)
    void resolverAndType() {}

    @Mistake(
        "@RateLimiter.resolver = io.limiter.micronaut.metadata.SubjectMistakesTest$NoBean: there is no bean of this type: make it a @Singleton")
    @RateLimiter(resolver = NoBean.class, rules = @RateRule)
    void resolverWithoutBean() {}

    @Mistake(
        "@RateLimiter.resolver = io.limiter.micronaut.metadata.SubjectMistakesTest$Tenant: there are several beans of this type: name the one")
    @RateLimiter(resolver = Tenant.class, rules = @RateRule)
    void resolverOfTwoBeans() {}
  }

  @Mistaken
  static class Strangers {

    @Mistake({"@RateLimiter.anonymous = REJECT", NEVER_ANONYMOUS})
    @RateLimiter(anonymous = Anonymous.REJECT, rules = @RateRule)
    void anonymousAddress() {}

    @Mistake({"@RateLimiter.anonymous = ADDRESS", NEVER_ANONYMOUS})
    @RateLimiter(subject = "#{phone}", anonymous = Anonymous.ADDRESS, rules = @RateRule)
    void anonymousArgument(String phone) {}

    @Mistake({"@RateLimiter.anonymousRules = ", NEVER_ANONYMOUS})
    @RateLimiter(rules = @RateRule, anonymousRules = @RateRule(count = 1))
    void anonymousRulesOfAddress() {}

    @Mistake({"@RateLimiter.anonymousRules = [1-per-60s]", BOTH})
    @RateLimiter(limitType = LimitType.USER_ID, anonymousRules = @RateRule(count = 1))
    void anonymousRulesAlone() {}

    @Mistake({"@RateLimiter.anonymousRules = []", BOTH})
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule,
        anonymousRules = {})
    void anonymousRulesEmpty() {}

    @Mistake({"@RateLimiter.anonymousRules = [1-per-60s]", BOTH})
    @RateLimiter(
        limitType = LimitType.USER_ID,
        anonymous = Anonymous.REJECT,
        rules = @RateRule,
        anonymousRules = @RateRule(count = 1))
    void anonymousRulesDenied() {}

    @Mistake({"@RateLimiter.anonymousRules.limitType = GLOBAL", AROUND})
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule,
        anonymousRules = @RateRule(limitType = LimitType.GLOBAL))
    void anonymousRuleWithType() {}

    @Mistake({"@RateLimiter.preventDuplicateRule.header = X-Api-Key", AROUND})
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(header = "X-Api-Key"))
    void duplicateRuleWithHeader() {}
  }

  @Mistaken
  static class Early {

    @Mistake({MEMBER, "security protects only routes"})
    @RateLimiter(beforeSecurity = true, rules = @RateRule)
    void earlyBean() {}

    @Mistake({
      MEMBER,
      "limitType = USER_ID counts the user, who is known only after security: " + APART
    })
    @Get
    @RateLimiter(beforeSecurity = true, limitType = LimitType.USER_ID, rules = @RateRule)
    void earlyUser() {}

    @Mistake({MEMBER, "who is known only after security: " + APART})
    @Get
    @RateLimiter(beforeSecurity = true, rules = @RateRule)
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule)
    void earlyBesideUser() {}

    @Mistake({MEMBER, "subject = #", "{phone} needs the arguments, which are"})
    @Post
    @RateLimiter(beforeSecurity = true, subject = "#{phone}", rules = @RateRule)
    void earlyArgument(@Body String phone) {}

    @Mistake({MEMBER, "the cost depends on the arguments"})
    @Post
    @RateLimiter(beforeSecurity = true, cost = "#{rows}", rules = @RateRule)
    void earlyCost(@Body int rows) {}

    @Mistake({MEMBER, "write duplicate = @Duplicate(by = DuplicateBy.CALLER)"})
    @Post
    @RateLimiter(
        beforeSecurity = true,
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void earlySubmission(String item) {}

    @Mistake({MEMBER, "that counts the address or a header"})
    @Post
    @RateLimiter(beforeSecurity = true, limitType = LimitType.GLOBAL, preventDuplicate = true)
    void earlySubmitter() {}
  }

  @Test
  void nothingIsBeforeSecurityWithoutTheGate() {
    assertThat(Starts.mistake(Map.of("spec.name", "EarlyAddress", "limiter.gate.enabled", "false")))
        .hasMessageStartingWith(EarlyAddress.class.getName() + ".call(): " + MEMBER)
        .hasMessageContaining("limiter.gate.enabled = false")
        .hasMessageContaining("enable the gate, or remove it");
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlyAddress")
  static class EarlyAddress {
    @Get
    @RateLimiter(beforeSecurity = true, rules = @RateRule)
    void call() {}
  }

  abstract static class NoBean implements SubjectResolver {}

  abstract static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.empty();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "SubjectMistakesTest")
  static class OneTenant extends Tenant {}

  @Singleton
  @Requires(property = "spec.name", value = "SubjectMistakesTest")
  static class OtherTenant extends Tenant {}
}
