// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.plan.DuplicateGuard.SubmissionContent;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** {@code @PreventDuplicate} and {@code @ConcurrencyLimit}, and how few members there are. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ShorthandsTest {

  @AutoClose private final Plans plans = Plans.of("ShorthandsTest");

  private LimitPlan plan(String method) {
    return plans.of(Orders.class, method);
  }

  private static Stream<Rule> rules(LimitPlan plan) {
    return plan.charges().stream().flatMap(planned -> planned.rules().rules().stream());
  }

  @Test
  void preventDuplicateAloneComparesTheArgumentsForFiveSeconds() {
    LimitPlan plan = plan("place");

    assertThat(plan.charges()).isEmpty();
    assertThat(plan.duplicates().orElseThrow().stack().rules())
        .containsExactly(SlidingWindowLogRule.of(1, Duration.ofSeconds(5)));
    assertThat(plan.duplicates().orElseThrow().submission())
        .isEqualTo(new SubmissionContent.ByArguments(List.of(0)));
    assertThat(plan.duplicates().orElseThrow().submitter()).isEqualTo(new SubjectSource.Address());
  }

  @Test
  void itsMembersDefineTheWindowAndTheComparison() {
    assertThat(plan("placeByCaller").duplicates().orElseThrow().stack().rules())
        .containsExactly(SlidingWindowLogRule.of(1, Duration.ofMinutes(2)));
    assertThat(plan("placeByCaller").duplicates().orElseThrow().submission())
        .isEqualTo(new SubmissionContent.ByCaller());
    Orders orders = plans.context().getBean(Orders.class);
    orders.placeByKey("tea", 1);
    orders.placeByKey("tea", 2);
    orders.placeByKey("coffee", 1);
    assertThatExceptionOfType(DuplicateSubmissionException.class)
        .isThrownBy(() -> orders.placeByKey("tea", 1));
  }

  @Test
  void itBelongsToTheOnlyRateLimiterInTheSamePlace() {
    LimitPlan plan = plan("placeOfUser");

    assertThat(plan.policy().name()).isEqualTo("orders");
    assertThat(plan.duplicates().orElseThrow().submitter()).isInstanceOf(SubjectSource.User.class);
    assertThat(plan.charges()).extracting(PlannedCharge::limit).hasSize(1);
  }

  @Test
  void itStacksWithRulesAndOtherShorthands() {
    LimitPlan plan = plan("everything");

    assertThat(rules(plan))
        .containsExactlyInAnyOrder(
            SlidingWindowLogRule.of(2, Duration.ofSeconds(60)),
            ConcurrencyLimitRule.of(3, Duration.ofSeconds(30)));
    assertThat(plan.duplicates()).isPresent();
  }

  @Test
  void concurrencyLimitCountsCallsInFlight() {
    LimitPlan plan = plan("report");

    assertThat(plan.charges()).hasSize(1);
    assertThat(plan.charges().get(0).rules().rules())
        .containsExactly(ConcurrencyLimitRule.of(3, Duration.ofMinutes(1)));
    assertThat(plan.charges().get(0).source()).isEqualTo(new SubjectSource.Everybody());
  }

  @Test
  void concurrencyLimitCountsAnArgument() {
    assertThat(plan("reportOf").charges().get(0).source())
        .isInstanceOf(SubjectSource.Expression.class);
    plans.context().getBean(Orders.class).reportOf("tea");
  }

  @Test
  void concurrencyLimitsOfSeveralSubjectsAddUp() {
    assertThat(plan("reportToAll").charges())
        .extracting(planned -> planned.source().written())
        .containsExactlyInAnyOrder("limitType = IP", "limitType = GLOBAL");
    assertThat(rules(plan("reportToAll")))
        .containsExactlyInAnyOrder(
            ConcurrencyLimitRule.of(2, Duration.ofSeconds(30)),
            ConcurrencyLimitRule.of(50, Duration.ofSeconds(30)));
  }

  @Test
  void thoseOfTheClassAndOfTheMethodAddUp() {
    LimitPlan plan = plans.of(LimitedClass.class, "call");

    assertThat(rules(plan))
        .containsExactlyInAnyOrder(
            ConcurrencyLimitRule.of(2, Duration.ofSeconds(30)),
            ConcurrencyLimitRule.of(9, Duration.ofSeconds(30)));
    assertThat(plan.duplicates().orElseThrow().stack().rules())
        .containsExactly(SlidingWindowLogRule.of(1, Duration.ofSeconds(7)));
  }

  @Test
  void composedAnnotationsMayHaveThem() {
    LimitPlan plan = plan("submit");

    assertThat(plan.duplicates().orElseThrow().stack().rules())
        .containsExactly(SlidingWindowLogRule.of(1, Duration.ofSeconds(10)));
    assertThat(plan.charges().get(0).rules().rules())
        .containsExactly(ConcurrencyLimitRule.of(1, Duration.ofSeconds(30)));
  }

  @Test
  void methodsOfOnePolicyNameAreLimitedSeparately() {
    Orders orders = plans.context().getBean(Orders.class);

    orders.first();
    orders.second();

    assertThatExceptionOfType(RateLimitExceededException.class).isThrownBy(orders::first);
    assertThatExceptionOfType(RateLimitExceededException.class).isThrownBy(orders::second);
    assertThat(plan("first").policy().name()).isEqualTo("separate");
    assertThat(plan("second").policy().name()).isEqualTo("separate");
  }

  @Test
  void groupsWorkInsideOfARateLimiter() {
    assertThat(plan("grouped").charges().get(0).rules().rules())
        .containsExactly(TokenBucketRule.of(20, 5, Duration.ofSeconds(1)));
  }

  /** At most 27 and 13. */
  @Test
  void theAnnotationsHaveFewMembers() {
    assertThat(RateLimiter.class.getDeclaredMethods()).hasSizeLessThanOrEqualTo(27);
    assertThat(RateRule.class.getDeclaredMethods()).hasSizeLessThanOrEqualTo(13);
  }

  @PreventDuplicate(within = 10)
  @ConcurrencyLimit(1)
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.METHOD)
  @interface SubmittedOnce {}

  @Singleton
  @Requires(property = "spec.name", value = "ShorthandsTest")
  static class Orders {

    @PreventDuplicate
    void place(String order) {}

    @PreventDuplicate(within = 2, timeUnit = TimeUnit.MINUTES, by = DuplicateBy.CALLER)
    void placeByCaller(String order) {}

    @PreventDuplicate(key = "#{number}")
    @RateLimiter(subject = "#{order}", rules = @RateRule(count = 100))
    void placeByKey(String order, int number) {}

    @PreventDuplicate
    @RateLimiter(value = "orders", limitType = LimitType.USER_ID, rules = @RateRule)
    void placeOfUser(String order) {}

    @PreventDuplicate
    @RateRule(count = 2)
    @ConcurrencyLimit(3)
    void everything(String order) {}

    @ConcurrencyLimit(
        value = 3,
        time = 1,
        timeUnit = TimeUnit.MINUTES,
        limitType = LimitType.GLOBAL)
    void report() {}

    @ConcurrencyLimit(value = 3, subject = "#{name}")
    void reportOf(String name) {}

    @ConcurrencyLimit(2)
    @ConcurrencyLimit(value = 50, limitType = LimitType.GLOBAL)
    void reportToAll() {}

    @SubmittedOnce
    void submit(String order) {}

    @RateLimiter(value = "separate", limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
    void first() {}

    @RateLimiter(value = "separate", limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
    void second() {}

    @RateLimiter(rules = @RateRule(count = 20, time = 1, tokenBucket = @TokenBucket(refill = 5)))
    void grouped() {}
  }

  @ConcurrencyLimit(9)
  @PreventDuplicate(within = 10)
  @Singleton
  @Requires(property = "spec.name", value = "ShorthandsTest")
  static class LimitedClass {

    @ConcurrencyLimit(2)
    @PreventDuplicate(within = 7)
    void call(String order) {}
  }
}
