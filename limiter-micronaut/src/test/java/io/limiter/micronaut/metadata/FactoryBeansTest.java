// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.EachBean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Parameter;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.inject.qualifiers.Qualifiers;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/**
 * On the method of a factory, a limit holds for the public methods of the bean it makes. What code
 * asks of such beans is in {@code LimitPoliciesTest}, what is not limited in {@link
 * UnwovenLimitsTest}.
 */
class FactoryBeansTest {

  private static final String SPEC = "FactoryBeansTest";

  @AutoClose private final ApplicationContext context = Starts.inMemory(SPEC);
  private final Mailer mailer = context.getBean(Mailer.class);

  @Test
  void rulesOfTheMethodItselfAddUpWithIt() {
    mailer.both();

    assertThat(denied(mailer::both)).containsExactly("1-per-3600s", "1-per-60s");
  }

  @Test
  void aMethodMayBeExempt() {
    mailer.free();
    mailer.free();
  }

  /** They would count by different rules under one name, that of their class and method. */
  @Test
  void beansOfOneTypeNeedKeysWhereTheirRulesDiffer() {
    context.getBean(Port.class, Qualifiers.byName("slow")).call();
    Port fast = context.getBean(Port.class, Qualifiers.byName("fast"));

    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(fast::call)
        .withMessageContaining(
            "whose rules, ban, lease or subject differ: make them the same, or use different keys");
  }

  /** The limit is that of the method. An expression may count each bean by itself. */
  @Test
  void theBeansOfEachBeanShareALimitUnlessAnExpressionDistinguishesThem() {
    Account first = context.getBean(Account.class, Qualifiers.byName("slow"));
    Account second = context.getBean(Account.class, Qualifiers.byName("fast"));

    first.shared();
    assertThat(denied(second::shared)).containsExactly("1-per-60s");
    first.own();
    second.own();
    assertThat(denied(first::own)).containsExactly("1-per-60s");
    assertThat(denied(second::own)).containsExactly("1-per-60s");
  }

  private static List<String> denied(Runnable call) {
    try {
      call.run();
    } catch (RateLimitExceededException denied) {
      return denied.verdict().violated().stream().map(each -> each.rule()).map(Rule::name).toList();
    }
    throw new AssertionError("The call was not denied");
  }

  static class Mailer {
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1, time = 3600))
    public void both() {}

    @NoRateLimit
    public void free() {}
  }

  @EachBean(Port.class)
  @Requires(property = "spec.name", value = SPEC)
  static class Account {

    private final String name;

    Account(@Parameter String name) {
      this.name = name;
    }

    public String getName() {
      return name;
    }

    @RateRule(count = 1, time = 60, limitType = LimitType.GLOBAL)
    void shared() {}

    @RateLimiter(subject = "#{this.name}", rules = @RateRule(count = 1, time = 60))
    void own() {}
  }

  interface Port {
    void call();
  }

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Beans {
    @Singleton
    @RateLimiter(value = "mail", limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
    Mailer mailer() {
      return new Mailer();
    }

    @Singleton
    @Named("slow")
    @RateRule(count = 1, limitType = LimitType.GLOBAL)
    Port slowPort() {
      return () -> {};
    }

    @Singleton
    @Named("fast")
    @RateRule(count = 2, limitType = LimitType.GLOBAL)
    Port fastPort() {
      return () -> {};
    }
  }
}
