// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** The subject must be specified once, and must be determinable. */
class SubjectMistakesTest extends MistakesContract {

  private static final String NAME_IT = "name the header, such as header = \"X-Api-Key\"";
  private static final String ILLEGAL = "no header can have this name: write one such as X-Api-Key";
  private static final String BY_HEADER = "a header is counted by limitType = HEADER: write that";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(HeaderMissing.class, "@RateLimiter.header = \"\"", NAME_IT),
        arguments(HeaderEmpty.class, "@RateRule.header = \"\"", NAME_IT),
        arguments(HeaderResolvedToNothing.class, "@RateLimiter.header = \"\"", NAME_IT),
        arguments(HeaderIllegal.class, "@RateLimiter.header = X Api Key", ILLEGAL),
        arguments(HeaderWithLine.class, "@RateRule.header = X\nY", ILLEGAL),
        arguments(HeaderByUser.class, "@RateLimiter.limitType = USER_ID", BY_HEADER),
        arguments(RuleHeaderByAll.class, "@RateRule.limitType = GLOBAL", BY_HEADER),
        arguments(
            SubjectAndHeader.class,
            "@RateLimiter.header = X-Api-Key",
            "subject already defines who is counted: remove one of them"),
        arguments(
            RuleSubjectAndHeader.class,
            "@RateRule.header = X-Api-Key",
            "subject already defines who is counted: remove one of them"),
        arguments(
            SubjectAndResolver.class,
            "@RateLimiter.resolver = ",
            "subject already defines who is counted: remove one of them"),
        arguments(
            ResolverAndHeader.class,
            "@RateLimiter.header = X-Api-Key",
            "resolver already defines who is counted: remove one of them"),
        arguments(
            ResolverAndType.class,
            "@RateLimiter.limitType = GLOBAL",
            "the resolver already defines who is counted: remove one of them"),
        arguments(
            ResolverWithoutBean.class,
            "@RateLimiter.resolver = io.limiter.micronaut.metadata.SubjectMistakesTest$NoBean",
            "there is no bean of this type: make it a @Singleton"),
        arguments(
            ResolverOfTwoBeans.class,
            "@RateLimiter.resolver = io.limiter.micronaut.metadata.SubjectMistakesTest$Tenant",
            "there are several beans of this type: name the one"),
        arguments(
            RuleSubjectConstant.class,
            "@RateRule.subject = phone: it is the same for every call",
            "write an expression over the arguments"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "HeaderMissing")
  static class HeaderMissing {
    @RateLimiter(limitType = LimitType.HEADER, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "HeaderEmpty")
  static class HeaderEmpty {
    @RateRule(limitType = LimitType.HEADER, header = "")
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "HeaderResolvedToNothing")
  static class HeaderResolvedToNothing {
    @RateLimiter(header = "${no.such.header:}", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "HeaderIllegal")
  static class HeaderIllegal {
    @RateLimiter(header = "X Api Key", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "HeaderWithLine")
  static class HeaderWithLine {
    @RateRule(header = "X\nY")
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "HeaderByUser")
  static class HeaderByUser {
    @RateLimiter(limitType = LimitType.USER_ID, header = "X-Api-Key", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RuleHeaderByAll")
  static class RuleHeaderByAll {
    @RateRule(limitType = LimitType.GLOBAL, header = "X-Api-Key")
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "SubjectAndHeader")
  static class SubjectAndHeader {
    @RateLimiter(subject = "#{phone}", header = "X-Api-Key", rules = @RateRule)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RuleSubjectAndHeader")
  static class RuleSubjectAndHeader {
    @RateRule(subject = "#{phone}", header = "X-Api-Key")
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "SubjectAndResolver")
  static class SubjectAndResolver {
    @RateLimiter(subject = "#{phone}", resolver = NoBean.class, rules = @RateRule)
    void call(String phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResolverAndHeader")
  static class ResolverAndHeader {
    @RateLimiter(resolver = NoBean.class, header = "X-Api-Key", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResolverAndType")
  static class ResolverAndType {
    @RateLimiter(resolver = NoBean.class, limitType = LimitType.GLOBAL, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResolverWithoutBean")
  static class ResolverWithoutBean {
    @RateLimiter(resolver = NoBean.class, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResolverOfTwoBeans")
  static class ResolverOfTwoBeans {
    @RateLimiter(resolver = Tenant.class, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RuleSubjectConstant")
  static class RuleSubjectConstant {
    @RateRule(subject = "phone")
    void call(String phone) {}
  }

  abstract static class NoBean implements SubjectResolver {}

  abstract static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.empty();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResolverOfTwoBeans")
  static class OneTenant extends Tenant {}

  @Singleton
  @Requires(property = "spec.name", value = "ResolverOfTwoBeans")
  static class OtherTenant extends Tenant {}
}
