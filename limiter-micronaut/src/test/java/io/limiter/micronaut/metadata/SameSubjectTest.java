// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits of one method that count one subject share its state, whatever they say of strangers. */
class SameSubjectTest {

  private final Plans plans = Plans.of("SameSubjectTest");

  @AfterEach
  void close() {
    plans.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"user", "userTurned", "header", "resolver"})
  void oneLimitThatDeniesStrangersDoesSoForAllOfTheirSubject(String method) {
    assertThat(charges(method))
        .singleElement()
        .satisfies(
            planned -> {
              assertThat(planned.source().anonymous()).isEqualTo(Anonymous.REJECT);
              assertThat(planned.rules().rules()).extracting(Rule::count).containsExactly(1L, 2L);
            });
  }

  @Test
  void otherLimitsAreNotConcerned() {
    assertThat(charges("others"))
        .extracting(PlannedCharge::source)
        .containsExactly(
            new SubjectSource.Header("x-key", Anonymous.REJECT),
            new SubjectSource.Header("x-other", Anonymous.ADDRESS),
            new SubjectSource.User(Anonymous.ADDRESS),
            new SubjectSource.Header("x-key", Anonymous.ADDRESS));
  }

  private List<PlannedCharge> charges(String method) {
    return plans.of(Service.class, method).charges();
  }

  @Singleton
  @Requires(property = "spec.name", value = "SameSubjectTest")
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.empty();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "SameSubjectTest")
  static class Service {

    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
    @RateLimiter(
        limitType = LimitType.USER_ID,
        anonymous = Anonymous.REJECT,
        rules = @RateRule(count = 2))
    void user() {}

    @RateLimiter(
        limitType = LimitType.USER_ID,
        anonymous = Anonymous.REJECT,
        rules = @RateRule(count = 1))
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 2))
    void userTurned() {}

    @RateLimiter(header = "X-Key", rules = @RateRule(count = 1))
    @RateLimiter(header = "x-key", anonymous = Anonymous.REJECT, rules = @RateRule(count = 2))
    void header() {}

    @RateLimiter(resolver = Tenant.class, rules = @RateRule(count = 1))
    @RateLimiter(
        resolver = Tenant.class,
        anonymous = Anonymous.REJECT,
        rules = @RateRule(count = 2))
    void resolver() {}

    @RateLimiter(header = "X-Key", anonymous = Anonymous.REJECT, rules = @RateRule(count = 1))
    @RateLimiter(header = "X-Other", rules = @RateRule(count = 2))
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 3))
    @RateLimiter(key = "other", header = "X-Key", rules = @RateRule(count = 4))
    void others() {}
  }
}
