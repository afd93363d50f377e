// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.micronaut.context.annotation.Executable;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** To which methods the annotation of a class applies, and with which rules. */
class ClassRulesTest {

  private static final String SPEC = "ClassRulesTest";

  private final Plans plans = Plans.recorded(SPEC);

  @AfterEach
  void close() {
    plans.close();
  }

  @Test
  void aControllerSpeaksForItsRoutes() {
    assertThat(plans.logs(Shop.class, "list")).containsExactly("limitType = IP: 2-per-60s");
    assertThat(plans.logs(Shop.class, "buy"))
        .containsExactly("limitType = IP: 1-per-60s, 2-per-60s");
  }

  @Test
  void aControllerDoesNotSpeakForItsErrorRoutesAndHelpers() {
    assertThat(plans.find(Shop.class, "answer")).isEmpty();
    assertThat(plans.find(Shop.class, "helper")).isEmpty();
    assertThat(plans.find(Shop.class, "job")).isEmpty();
  }

  @Test
  void aHelperMayHaveLimitsOfItsOwn() {
    assertThat(plans.logs(Shop.class, "limitedHelper"))
        .containsExactly("limitType = GLOBAL: 9-per-60s");
  }

  @Test
  void anotherBeanSpeaksForItsMethodsHoweverVisible() {
    for (String method : List.of("open", "inherited", "packaged")) {
      assertThat(plans.logs(Mailer.class, method))
          .as(method)
          .containsExactly("limitType = GLOBAL: 1-per-60s");
    }
  }

  /** Logging a bean, or putting it into a set, is not a call to limit. */
  @Test
  void itDoesNotSpeakForTheMethodsOfObject() {
    Mailer bean = plans.context().getBean(Mailer.class);

    assertThat(bean.toString()).isEqualTo("mailer");
    assertThat(bean.equals("another")).isFalse();
    assertThat(bean.hashCode()).isEqualTo(1);
    assertThat(plans.context().getBean(RecordedDecisions.class).requests()).isEmpty();
  }

  @Test
  void itDoesNotSpeakForTheBeginAndTheEndOfTheBean() {
    Mailer bean = plans.context().getBean(Mailer.class);
    List<String> life = bean.life;
    plans.context().destroyBean(Mailer.class);

    assertThat(life).containsExactly("begun", "ended");
    assertThat(plans.context().getBean(RecordedDecisions.class).requests()).isEmpty();
  }

  @Test
  void aNameOnAClassIsThatOfEachMethod() {
    assertThat(plans.of(Mailer.class, "open").policy().name()).isEqualTo("mail");
    assertThat(plans.of(Mailer.class, "packaged").policy().name()).isEqualTo("mail");
  }

  @Test
  void rulesWithAndWithoutAKeyMayStandOnOneClass() {
    assertThat(plans.logs(Mixed.class, "call"))
        .containsExactly("limitType = IP: 1-per-60s", "key = all, limitType = GLOBAL: 5-per-60s");
    assertThat(plans.logs(Mixed.class, "own"))
        .containsExactly(
            "limitType = IP: 3-per-60s, 1-per-60s", "key = all, limitType = GLOBAL: 5-per-60s");
  }

  /** Its rule has another name there, since names distinguish the rules of a method. */
  @Test
  void aKeyedRuleIsSharedAlsoWithAMethodWhoseOwnRuleHasTheSameNumbers() {
    assertThat(plans.logs(Mixed.class, "sameNumbers"))
        .containsExactly(
            "limitType = IP: 5-per-60s, 1-per-60s", "key = all, limitType = GLOBAL: 5-per-60s-2");
  }

  @Test
  void aRuleThatTheMethodRepeatsCountsOnce() {
    assertThat(plans.logs(Mixed.class, "equal"))
        .containsExactly("limitType = IP: 1-per-60s", "key = all, limitType = GLOBAL: 5-per-60s");
  }

  @Controller("/shop")
  @Requires(property = "spec.name", value = SPEC)
  @RateRule(count = 2)
  static class Shop {
    @Get("/list")
    String list() {
      return helper();
    }

    @Get("/buy")
    @RateRule(count = 1)
    String buy() {
      return helper();
    }

    @Error
    String answer(IllegalStateException error) {
      return "failed";
    }

    String helper() {
      return "ok";
    }

    @Executable
    void job() {}

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9))
    void limitedHelper() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(value = "mail", limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
  static class Mailer {
    final List<String> life = new ArrayList<>();

    @PostConstruct
    void begin() {
      life.add("begun");
    }

    @PreDestroy
    void end() {
      life.add("ended");
    }

    public void open() {}

    protected void inherited() {}

    void packaged() {}

    @Override
    public boolean equals(Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return 1;
    }

    @Override
    public String toString() {
      return "mailer";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(rules = @RateRule(count = 1))
  @RateLimiter(key = "all", limitType = LimitType.GLOBAL, rules = @RateRule(count = 5))
  static class Mixed {
    void call() {}

    @RateRule(count = 3)
    void own() {}

    @RateRule(count = 1)
    void equal() {}

    @RateRule(count = 5)
    void sameNumbers() {}
  }
}
