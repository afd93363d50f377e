// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A limit applies to methods that implement or override the annotated one: Micronaut's routes are
 * inherited, and a route whose limit is not would be open to all.
 */
class InheritedRulesTest {

  private final ApplicationContext context = Starts.inMemory("InheritedRulesTest");

  @AfterEach
  void close() {
    context.close();
  }

  @Test
  void theRulesOfAnInterfaceHold() {
    assertThat(rules(First.class, "send")).containsExactly("2-per-60s");
    assertThat(rules(Second.class, "send")).containsExactly("2-per-60s");
  }

  @Test
  void eachImplementationIsLimitedByItself() {
    assertThat(plan(First.class, "send").policy().limit())
        .isEqualTo(First.class.getName() + ".send()");
    assertThat(plan(Second.class, "send").policy().limit())
        .isEqualTo(Second.class.getName() + ".send()");
  }

  @Test
  void rulesOfTheImplementationAndOfTheInterfaceAddUp() {
    assertThat(rules(First.class, "both")).containsExactlyInAnyOrder("7-per-1s", "2-per-60s");
  }

  @Test
  void aLimiterOfAnInterfaceHoldsAsItIsWritten() {
    LimitPlan plan = plan(First.class, "limited");

    assertThat(plan.charges())
        .extracting(PlannedCharge::source)
        .containsExactly(new SubjectSource.Everybody());
    assertThat(plan.texts()).containsEntry("3-per-60s", DenialText.message("Later"));
    assertThat(rules(First.class, "limited")).containsExactly("3-per-60s");
  }

  @Test
  void theRulesOfAnOverriddenMethodHold() {
    assertThat(rules(First.class, "overridden")).containsExactly("4-per-60s");
  }

  private List<String> rules(Class<?> bean, String method) {
    return plan(bean, method).policy().rules().stream().map(Rule::name).toList();
  }

  private LimitPlan plan(Class<?> bean, String method) {
    return context.getBeanDefinition(bean).getExecutableMethods().stream()
        .filter(candidate -> candidate.getMethodName().equals(method))
        .findFirst()
        .flatMap(context.getBean(PlanRegistry.class)::of)
        .orElseThrow();
  }

  interface Sender {
    @RateRule(count = 2)
    void send();

    @RateRule(count = 2)
    void both();

    @RateLimiter(limitType = LimitType.GLOBAL, message = "Later", rules = @RateRule(count = 3))
    void limited();
  }

  abstract static class Base {
    @RateRule(count = 4)
    void overridden() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "InheritedRulesTest")
  static class First extends Base implements Sender {
    @Override
    public void send() {}

    @Override
    @RateRule(count = 7, time = 1)
    public void both() {}

    @Override
    public void limited() {}

    @Override
    void overridden() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "InheritedRulesTest")
  static class Second implements Sender {
    @Override
    public void send() {}

    @Override
    public void both() {}

    @Override
    public void limited() {}
  }
}
