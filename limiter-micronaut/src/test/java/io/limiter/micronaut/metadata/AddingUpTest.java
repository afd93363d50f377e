// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.limiter.core.LimitRequest;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.micronaut.context.annotation.Executable;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What adds up, what replaces, and in which order: the table of the documentation. {@link
 * InheritedPlacesTest} has what comes from other types.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AddingUpTest {

  private static final String SPEC = "AddingUpTest";

  @AutoClose private final Plans plans = Plans.recorded(SPEC);

  @BeforeEach
  void forget() {
    requests().clear();
  }

  private List<LimitRequest> requests() {
    return plans.context().getBean(RecordedDecisions.class).requests();
  }

  /** The logs that a call of the method is counted in. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # Rules of one place add up in the order written, and equal ones are one.
          OnMethods | rules               | limitType = IP: 9-per-1s, 1-per-60s, 5-per-60s
          OnMethods | equalRules          | limitType = IP: 1-per-60s
          OnMethods | equalInOtherWords   | limitType = IP: 1-per-60s
          # The rules of a limiter come before those beside it, which count its subject.
          OnMethods | besideALimiter      | limitType = USER_ID: 2-per-60s, 3-per-60s, 1-per-60s
          OnMethods | limiters            | limitType = USER_ID: 1-per-60s; limitType = GLOBAL: 2-per-60s
          # A rule with its own subject counts that instead.
          OnMethods | subjectsOfTheirOwn  | limitType = USER_ID: 1-per-60s; limitType = GLOBAL: 2-per-60s; header = x-api-key: 3-per-60s; subject = #{phone}: 4-per-60s
          # Rules of one key and subject share a log, others have their own.
          OnMethods | logs                | limitType = IP: 1-per-60s, 5-per-60s; limitType = GLOBAL: 2-per-60s; key = shared, limitType = IP: 3-per-60s; key = shared, limitType = GLOBAL: 4-per-60s
          # Rules of equal numbers for other subjects get names of their own.
          OnMethods | equalNumbers        | limitType = IP: 10-per-60s; limitType = GLOBAL: 10-per-60s-2; limitType = USER_ID: 10-per-60s-3

          # A class limits its methods, however visible they are, and frees those with @NoRateLimit.
          Mailer | open                   | limitType = GLOBAL: 1-per-60s
          Mailer | inherited              | limitType = GLOBAL: 1-per-60s
          Mailer | packaged               | limitType = GLOBAL: 1-per-60s
          Mailer | free                   | ''
          # A helper of a controller may have limits of its own.
          Shop | helper                   | limitType = GLOBAL: 9-per-60s
          Shop | job                      | ''
          # Limits of its own hold although the class is exempt.
          ExemptClass | limited           | limitType = IP: 1-per-60s
          ExemptClass | free              | ''
          # A class with a key limits its methods together; rules without a key may stand beside it.
          Mixed | call                    | limitType = IP: 1-per-60s; key = all, limitType = GLOBAL: 5-per-60s
          Mixed | own                     | limitType = IP: 3-per-60s, 1-per-60s; key = all, limitType = GLOBAL: 5-per-60s
          # A rule that the method repeats counts once.
          Mixed | equal                   | limitType = IP: 1-per-60s; key = all, limitType = GLOBAL: 5-per-60s
          # Names distinguish the rules of a method, so the keyed rule has another one here.
          Mixed | sameNumbers             | limitType = IP: 5-per-60s, 1-per-60s; key = all, limitType = GLOBAL: 5-per-60s-2

          # A composed annotation is in the same place as what stands beside it, behind it.
          Composed | ruled                | limitType = IP: 1-per-60s, 5-per-60s
          Composed | nested               | limitType = IP: 6-per-60s, 5-per-60s
          Composed | several              | limitType = IP: 6-per-60s, 5-per-60s
          Composed | joined               | limitType = USER_ID: 3-per-60s, 4-per-60s
          ComposedOnClass | call          | limitType = IP: 5-per-60s
          ComposedOnClass | free          | ''
          # As Java and Micronaut have it for any annotation, only an inherited one is inherited.
          Implementation | inherited      | limitType = IP: 7-per-60s
          Implementation | notInherited   | ''
          """)
  void aCallCounts(String bean, String method, String logs) throws ClassNotFoundException {
    assertThat(plans.logs(getClass(), bean, method)).isEqualTo(logs);
  }

  @Test
  void allLogsOfACallAreOneDecisionAndTheAnswerIsThatOfTheLongestWait() {
    Answered bean = plans.context().getBean(Answered.class);
    bean.answered();

    assertThat(requests())
        .singleElement()
        .satisfies(request -> assertThat(request.charges()).hasSize(2));
    assertThat(catchThrowableOfType(RateLimitExceededException.class, bean::answered).text())
        .isEqualTo(DenialText.message("an hour"));
  }

  @Test
  void aClassWithoutAKeyLimitsEachMethodByItself() {
    assertThat(plans.of(Mailer.class, "open").policy().limit())
        .isEqualTo(Mailer.class.getName() + ".open()");
  }

  @Test
  void theNearestPlaceThatSpeaksOfDuplicatesDecides() {
    assertThat(plans.of(Submissions.class, "asTheClass").duplicates()).isPresent();
    assertThat(plans.of(Submissions.class, "never").duplicates()).isEmpty();
    assertThat(Plans.names(plans.of(Submissions.class, "other").duplicates().orElseThrow().stack()))
        .isEqualTo("1-per-9s");
  }

  @Test
  void theNearestNameHoldsAndTheAnswerIsThatOfTheLimiterWhoseRuleDenies() {
    LimitPlan plan = plans.of(Named.class, "named");

    assertThat(plan.policy().name()).isEqualTo("method");
    assertThat(plans.of(Named.class, "unnamed").policy().name()).isEqualTo("class");
    assertThat(Plans.texts(plan).get("1-per-60s").message()).contains("from the method");
    assertThat(Plans.texts(plan).get("2-per-60s").message()).contains("from the class");
  }

  /** Logging a bean, or putting it into a set, is not a call to limit. */
  @Test
  void aClassDoesNotSpeakForTheMethodsOfObjectNorForTheLifeOfTheBean() {
    Mailer bean = plans.context().getBean(Mailer.class);
    List<String> life = bean.life;

    assertThat(bean.toString()).isEqualTo("mailer");
    assertThat(bean.equals("another")).isFalse();
    assertThat(bean.hashCode()).isEqualTo(1);
    plans.context().destroyBean(Mailer.class);

    assertThat(life).containsExactly("begun", "ended");
    assertThat(requests()).isEmpty();
  }

  @Test
  void anExpressionOfAComposedAnnotationIsReadForEachUseByItself() {
    Composed bean = plans.context().getBean(Composed.class);
    bean.byText("first", "555");
    bean.byNumber(556);
    bean.byText("other", "555");

    var keys = requests().stream().map(request -> request.charges().get(0).key()).toList();
    assertThat(keys.get(0)).isEqualTo(keys.get(2)).isNotEqualTo(keys.get(1));
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OnMethods {
    @RateRule(count = 9, time = 1)
    @RateRule(count = 1)
    @RateRule(count = 5)
    void rules() {}

    @RateRule(count = 1)
    @RateRule(count = 1)
    void equalRules() {}

    @RateLimiter(rules = @RateRule(count = 1))
    @RateRule(count = 1, time = 60_000, timeUnit = TimeUnit.MILLISECONDS)
    void equalInOtherWords() {}

    @RateRule(count = 3)
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 2))
    @RateRule(count = 1)
    void besideALimiter() {}

    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    void limiters() {}

    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = {@RateRule(count = 1), @RateRule(count = 2, limitType = LimitType.GLOBAL)})
    @RateRule(count = 3, header = "X-Api-Key")
    @RateRule(count = 4, subject = "#{phone}")
    void subjectsOfTheirOwn(String phone) {}

    @RateLimiter(
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2, limitType = LimitType.GLOBAL),
          @RateRule(count = 5, limitType = LimitType.IP)
        })
    @RateLimiter(
        key = "shared",
        rules = {@RateRule(count = 3), @RateRule(count = 4, limitType = LimitType.GLOBAL)})
    void logs() {}

    @RateRule
    @RateRule(limitType = LimitType.GLOBAL)
    @RateRule(limitType = LimitType.USER_ID)
    void equalNumbers() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
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

    @NoRateLimit
    void free() {}

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

  @Controller("/shop")
  @Requires(property = "spec.name", value = SPEC)
  @RateRule(count = 2)
  static class Shop {
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9))
    void helper() {}

    @Executable
    void job() {}
  }

  @RateRule(count = 2)
  abstract static class LimitedBase {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @NoRateLimit
  static class ExemptClass extends LimitedBase {
    @RateRule(count = 1)
    void limited() {}

    @Executable
    void free() {}
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

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(preventDuplicate = true)
  static class Submissions {
    void asTheClass() {}

    @RateLimiter(preventDuplicate = false, rules = @RateRule)
    void never() {}

    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 1, time = 9))
    void other() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(value = "class", message = "from the class", rules = @RateRule(count = 2))
  static class Named {
    @RateLimiter(value = "method", message = "from the method", rules = @RateRule(count = 1))
    void named() {}

    void unnamed() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Answered {
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        message = "an hour",
        rules = @RateRule(count = 1, time = 3600))
    @RateLimiter(
        key = "answered",
        limitType = LimitType.GLOBAL,
        message = "a minute",
        rules = @RateRule(count = 1))
    void answered() {}
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateRule(count = 5)
  @interface Strict {}

  @Retention(RetentionPolicy.RUNTIME)
  @Strict
  @RateRule(count = 6)
  @interface Stricter {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 3))
  @interface EachUser {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(subject = "#{phone}", rules = @RateRule(count = 2))
  @interface EachPhone {}

  @Retention(RetentionPolicy.RUNTIME)
  @Inherited
  @RateRule(count = 7)
  @interface HandedDown {}

  @Retention(RetentionPolicy.RUNTIME)
  @NoRateLimit
  @interface Free {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Composed {
    @Strict
    @RateRule(count = 1)
    void ruled() {}

    @Stricter
    void nested() {}

    @Stricter
    @Strict
    void several() {}

    @EachUser
    @RateRule(count = 4)
    void joined() {}

    @EachPhone
    void byText(String other, String phone) {}

    @EachPhone
    void byNumber(int phone) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @Strict
  static class ComposedOnClass {
    void call() {}

    @Free
    void free() {}
  }

  interface Contract {
    @HandedDown
    void inherited();

    @Strict
    void notInherited();
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Implementation implements Contract {
    @Override
    public void inherited() {}

    @Executable
    @Override
    public void notInherited() {}
  }
}
