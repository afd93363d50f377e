// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.Arguments;

/** What is decided before security must not need what comes later. */
class BeforeSecurityMistakesTest extends MistakesContract {

  private static final String MEMBER = "@RateLimiter.beforeSecurity = true";
  private static final String APART =
      "count the address or a header, or put this limit on a method that the route calls";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(EarlyBean.class, MEMBER, "security protects only routes"),
        arguments(
            EarlyUser.class,
            MEMBER,
            "limitType = USER_ID counts the user, who is known only after security: " + APART),
        arguments(EarlyBesideUser.class, MEMBER, "who is known only after security: " + APART),
        arguments(EarlyUnderUser.class, MEMBER, "who is known only after security: " + APART),
        arguments(EarlyArgument.class, MEMBER, "subject = #{phone} needs the arguments, which are"),
        arguments(EarlyCost.class, MEMBER, "the cost depends on the arguments"),
        arguments(
            EarlySubmission.class,
            MEMBER,
            "write duplicate = @Duplicate(by = DuplicateBy.CALLER), or IDEMPOTENCY_KEY"),
        arguments(EarlySubmitter.class, MEMBER, "that counts the address or a header"));
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

  @Singleton
  @Requires(property = "spec.name", value = "EarlyBean")
  static class EarlyBean {
    @RateLimiter(beforeSecurity = true, rules = @RateRule)
    void call() {}
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlyUser")
  static class EarlyUser {
    @Get
    @RateLimiter(beforeSecurity = true, limitType = LimitType.USER_ID, rules = @RateRule)
    void call() {}
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlyBesideUser")
  static class EarlyBesideUser {
    @Get
    @RateLimiter(beforeSecurity = true, rules = @RateRule)
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule)
    void call() {}
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlyUnderUser")
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule)
  static class EarlyUnderUser {
    @Get
    @RateLimiter(beforeSecurity = true, rules = @RateRule)
    void call() {}
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlyArgument")
  static class EarlyArgument {
    @Get
    @RateLimiter(beforeSecurity = true, subject = "#{phone}", rules = @RateRule)
    void call(String phone) {}
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlyCost")
  static class EarlyCost {
    @Get
    @RateLimiter(beforeSecurity = true, cost = "#{rows}", rules = @RateRule)
    void call(int rows) {}
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlySubmission")
  static class EarlySubmission {
    @Post
    @RateLimiter(
        beforeSecurity = true,
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(String item) {}
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlySubmitter")
  static class EarlySubmitter {
    @Post
    @RateLimiter(beforeSecurity = true, limitType = LimitType.GLOBAL, preventDuplicate = true)
    void call() {}
  }
}
