// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.metadata.AddingUpBeans.Answered;
import io.limiter.micronaut.metadata.AddingUpBeans.Everywhere;
import io.limiter.micronaut.metadata.AddingUpBeans.ExemptClass;
import io.limiter.micronaut.metadata.AddingUpBeans.Implementation;
import io.limiter.micronaut.metadata.AddingUpBeans.KeyedClass;
import io.limiter.micronaut.metadata.AddingUpBeans.Named;
import io.limiter.micronaut.metadata.AddingUpBeans.OnClass;
import io.limiter.micronaut.metadata.AddingUpBeans.OnMethods;
import io.limiter.micronaut.metadata.AddingUpBeans.Submissions;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.testing.RecordedDecisions;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What adds up, what replaces, and in which order: the table of the documentation, a test for each
 * line. {@code logs} gives a line for each log that a call is counted in.
 */
class AddingUpTest {

  private final Plans plans = Plans.recorded(AddingUpBeans.SPEC);

  @AfterEach
  void close() {
    plans.close();
  }

  @Test
  void rulesOfOnePlaceAddUpInTheOrderWritten() {
    assertThat(logs("rules")).containsExactly("limitType = IP: 9-per-1s, 1-per-60s, 5-per-60s");
  }

  @Test
  void equalRulesAreOne() {
    assertThat(logs("equalRules")).containsExactly("limitType = IP: 1-per-60s");
  }

  @Test
  void theRulesOfALimiterComeBeforeThoseBesideItWhichCountItsSubject() {
    assertThat(logs("besideALimiter"))
        .containsExactly("limitType = USER_ID: 2-per-60s, 3-per-60s, 1-per-60s");
  }

  @Test
  void limitersOfOnePlaceAddUp() {
    assertThat(logs("limiters"))
        .containsExactly("limitType = USER_ID: 1-per-60s", "limitType = GLOBAL: 2-per-60s");
  }

  @Test
  void aRuleWithItsOwnSubjectCountsThatInstead() {
    assertThat(logs("subjectsOfTheirOwn"))
        .containsExactly(
            "limitType = USER_ID: 1-per-60s",
            "limitType = GLOBAL: 2-per-60s",
            "header = x-api-key: 3-per-60s",
            "subject = #{phone}: 4-per-60s");
  }

  @Test
  void rulesOfOneKeyAndSubjectShareALogOthersHaveTheirOwn() {
    assertThat(logs("logs"))
        .containsExactly(
            "limitType = IP: 1-per-60s, 5-per-60s",
            "limitType = GLOBAL: 2-per-60s",
            "key = shared, limitType = IP: 3-per-60s",
            "key = shared, limitType = GLOBAL: 4-per-60s");
  }

  @Test
  void allLogsOfACallAreOneDecision() {
    plans.context().getBean(Answered.class).answered();

    assertThat(plans.context().getBean(RecordedDecisions.class).requests())
        .singleElement()
        .satisfies(request -> assertThat(request.charges()).hasSize(2));
  }

  @Test
  void allPlacesAddUpFromTheMethodOutwards() {
    assertThat(plans.logs(Everywhere.class, "call"))
        .containsExactly(
            "limitType = IP: 1-per-60s, 2-per-60s, 3-per-60s, 4-per-60s, 5-per-60s, 6-per-60s");
  }

  @Test
  void aRuleCountsTheSubjectOfItsOwnPlace() {
    assertThat(plans.logs(Implementation.class, "call"))
        .containsExactly("limitType = USER_ID: 1-per-60s", "limitType = IP: 2-per-60s");
  }

  @Test
  void aClassLimitsEachMethodByItself() {
    LimitPlan first = plans.of(OnClass.class, "first");
    LimitPlan second = plans.of(OnClass.class, "second");

    assertThat(Plans.logs(first)).containsExactly("limitType = IP: 1-per-60s");
    assertThat(Plans.logs(second)).containsExactly("limitType = IP: 1-per-60s");
    assertThat(first.policy().limit()).isEqualTo(OnClass.class.getName() + ".first()");
    assertThat(second.policy().limit()).isEqualTo(OnClass.class.getName() + ".second()");
  }

  @Test
  void aClassWithAKeyLimitsAllItsMethodsTogether() {
    List<String> one = List.of("key = shop, limitType = IP: 1-per-60s");

    assertThat(plans.logs(KeyedClass.class, "first")).isEqualTo(one);
    assertThat(plans.logs(KeyedClass.class, "second")).isEqualTo(one);
  }

  @Test
  void noRateLimitFreesFromFartherPlaces() {
    assertThat(plans.find(OnClass.class, "free")).isEmpty();
  }

  @Test
  void ownLimitsHoldAlthoughTheClassIsExempt() {
    assertThat(plans.logs(ExemptClass.class, "limited"))
        .containsExactly("limitType = IP: 1-per-60s");
    assertThat(plans.find(ExemptClass.class, "free")).isEmpty();
  }

  @Test
  void theNearestPlaceThatSpeaksOfDuplicatesDecides() {
    assertThat(plans.of(Submissions.class, "asTheClass").duplicates()).isPresent();
    assertThat(plans.of(Submissions.class, "never").duplicates()).isEmpty();
    assertThat(Plans.names(plans.of(Submissions.class, "other").duplicates().orElseThrow().stack()))
        .isEqualTo("1-per-9s");
  }

  @Test
  void theNearestNameHolds() {
    assertThat(plans.of(Named.class, "named").policy().name()).isEqualTo("method");
    assertThat(plans.of(Named.class, "unnamed").policy().name()).isEqualTo("class");
  }

  @Test
  void anAnswerIsThatOfTheLimiterWhoseRuleDenies() {
    LimitPlan plan = plans.of(Named.class, "named");

    assertThat(plan.texts().get("1-per-60s").message()).contains("from the method");
    assertThat(plan.texts().get("2-per-60s").message()).contains("from the class");
  }

  @Test
  void whereSeveralDenyTheAnswerIsThatOfTheLongestWait() {
    Answered bean = plans.context().getBean(Answered.class);
    bean.answered();

    assertThat(catchThrowableOfType(RateLimitExceededException.class, bean::answered).text())
        .isEqualTo(DenialText.message("an hour"));
  }

  @Test
  void rulesOfEqualNumbersForOtherSubjectsGetNamesOfTheirOwn() {
    assertThat(logs("equalNumbers"))
        .containsExactly(
            "limitType = IP: 10-per-60s",
            "limitType = GLOBAL: 10-per-60s-2",
            "limitType = USER_ID: 10-per-60s-3");
  }

  private List<String> logs(String method) {
    return plans.logs(OnMethods.class, method);
  }
}
