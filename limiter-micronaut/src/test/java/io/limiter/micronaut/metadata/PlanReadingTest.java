// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.DuplicateGuard.SubmissionContent;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.annotation.Requires;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.BeanDefinitionMethodReference;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** From annotations to a plan. */
class PlanReadingTest {

  @AutoClose private final Plans plans = Plans.of("PlanReadingTest");

  /** The start names it by its bean, a request does not: it would be planned on an event loop. */
  @Test
  void aMethodIsPlannedOnceHoweverItIsNamed() {
    PlanRegistry registry = plans.context().getBean(PlanRegistry.class);
    BeanDefinition<Annotated> bean = plans.context().getBeanDefinition(Annotated.class);
    ExecutableMethod<Annotated, Object> method = bean.getRequiredMethod("units");

    assertThat(registry.of(BeanDefinitionMethodReference.of(bean, method)).orElseThrow())
        .isSameAs(registry.of(method).orElseThrow());
  }

  @Test
  void everyUnitOfTimeIsRead() {
    assertThat(rules("units"))
        .extracting(Rule::name, Rule::window)
        .containsExactly(
            tuple("1-per-172800s", Duration.ofDays(2)),
            tuple("1-per-7200s", Duration.ofHours(2)),
            tuple("1-per-120s", Duration.ofMinutes(2)),
            tuple("1-per-2s", Duration.ofSeconds(2)),
            tuple("1-per-2ms", Duration.ofMillis(2)),
            tuple("2-per-2ms", Duration.ofMillis(2)),
            tuple("3-per-2ms", Duration.ofMillis(2)));
  }

  @Test
  void omittedMembersHaveTheDefaultsOfTheAnnotations() throws ReflectiveOperationException {
    LimitPlan plan = plan("bare");

    DuplicateGuard guard = plan.duplicates().orElseThrow();
    assertThat(declared(RateLimiter.class, "limitType")).isEqualTo(LimitType.IP);
    assertThat(guard.submitter()).isEqualTo(new SubjectSource.Address());
    assertThat(declared(Duplicate.class, "by")).isEqualTo(DuplicateBy.AUTO);
    assertThat(guard.submission()).isEqualTo(new SubmissionContent.ByArguments(List.of(0, 1, 2)));
    assertThat(declared(Duplicate.class, "releaseOnFailure")).isEqualTo(true);
    assertThat(guard.release()).isEqualTo(DuplicateGuard.Release.ON_FAILURE);
    assertThat(guard.text()).isSameAs(DenialText.NONE);
    for (String text : List.of("value", "key", "message", "code", "subject", "header")) {
      assertThat(declared(RateLimiter.class, text)).isEqualTo("");
    }
    for (String text : List.of("key", "message", "code")) {
      assertThat(declared(Duplicate.class, text)).isEqualTo("");
    }
    assertThat(declared(RateLimiter.class, "preventDuplicate")).isEqualTo(false);
    assertThat(declared(RateLimiter.class, "anonymous"))
        .isEqualTo(plans.context().getBean(LimiterConfiguration.class).anonymous());
    assertThat(plan("plainRule").duplicates()).isEmpty();
    assertThat(Plans.texts(plan("plainRule"))).isEmpty();
    assertThat(plan("plainRule").policy().duplicates()).isEmpty();

    RateRule submission = (RateRule) declared(RateLimiter.class, "preventDuplicateRule");
    assertThat(plan.policy().duplicates().orElseThrow().rules())
        .singleElement()
        .isEqualTo(
            SlidingWindowLogRule.of(
                submission.count(),
                Duration.of(submission.time(), submission.timeUnit().toChronoUnit())));
    assertThat(rules("plainRule"))
        .singleElement()
        .satisfies(
            rule -> {
              assertThat(rule.count()).isEqualTo(declared(RateRule.class, "count"));
              assertThat(rule.window())
                  .isEqualTo(
                      Duration.of(
                          (long) declared(RateRule.class, "time"),
                          ((TimeUnit) declared(RateRule.class, "timeUnit")).toChronoUnit()));
            });
  }

  @Test
  void aDuplicateRuleIsReadLikeAnyRuleAndAcceptsOneWithoutACount() {
    assertThat(plan("submissions").policy().duplicates().orElseThrow().rules())
        .containsExactly(SlidingWindowLogRule.of(2, Duration.ofSeconds(60)));
    assertThat(plan("uncounted").policy().duplicates().orElseThrow().rules())
        .containsExactly(SlidingWindowLogRule.of(1, Duration.ofSeconds(7)));
  }

  @Test
  void writtenMembersAreInThePlan() {
    LimitPlan plan = plan("written");

    assertThat(plan.policy().name()).isEqualTo("sms");
    assertThat(plan.policy().limit()).isEqualTo("codes");
    DuplicateGuard guard = plan.duplicates().orElseThrow();
    assertThat(guard.submitter()).isEqualTo(new SubjectSource.Submitter());
    assertThat(guard.text()).isEqualTo(DenialText.message("Not now"));
    assertThat(guard.submission()).isEqualTo(new SubmissionContent.ByArguments(List.of(0)));
    assertThat(guard.release()).isEqualTo(DuplicateGuard.Release.NEVER);
    assertThat(plan.decidedByRequest()).isFalse();
  }

  @Test
  void nameAndKeyAreTheMethodUnlessTheyAreGiven() {
    LimitPlan plan = plan("bare");

    assertThat(plan.method())
        .isEqualTo(Annotated.class.getName() + ".bare(java.lang.String,int[],java.util.List)");
    assertThat(plan.policy().name()).isEqualTo(plan.method());
    assertThat(plan.policy().limit()).isEqualTo(plan.method());
  }

  private List<Rule> rules(String method) {
    return plan(method).policy().rules();
  }

  private LimitPlan plan(String method) {
    return plans.of(Annotated.class, method);
  }

  private static Object declared(Class<?> annotation, String member)
      throws ReflectiveOperationException {
    return annotation.getMethod(member).getDefaultValue();
  }

  @Singleton
  @Requires(property = "spec.name", value = "PlanReadingTest")
  static class Annotated {

    @RateRule(count = 1, time = 2, timeUnit = TimeUnit.DAYS)
    @RateRule(count = 1, time = 2, timeUnit = TimeUnit.HOURS)
    @RateRule(count = 1, time = 2, timeUnit = TimeUnit.MINUTES)
    @RateRule(count = 1, time = 2, timeUnit = TimeUnit.SECONDS)
    @RateRule(count = 1, time = 2, timeUnit = TimeUnit.MILLISECONDS)
    @RateRule(count = 2, time = 2_000, timeUnit = TimeUnit.MICROSECONDS)
    @RateRule(count = 3, time = 2_000_000, timeUnit = TimeUnit.NANOSECONDS)
    void units() {}

    @RateLimiter(preventDuplicate = true)
    void bare(String order, int[] amounts, List<String> notes) {}

    @RateRule
    void plainRule() {}

    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 2))
    void submissions() {}

    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 7))
    void uncounted() {}

    @RateLimiter(
        value = "sms",
        key = "codes",
        limitType = LimitType.GLOBAL,
        message = "Not now",
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS, releaseOnFailure = false))
    void written(String phone) {}
  }
}
