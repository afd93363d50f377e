// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.micronaut.context.annotation.Executable;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Limits on annotations of the user's own hold for whatever bears those. */
class ComposedAnnotationsTest {

  private static final String SPEC = "ComposedAnnotationsTest";

  private final Plans plans = Plans.recorded(SPEC);

  @AfterEach
  void close() {
    plans.close();
  }

  @Test
  void rulesOfAComposedAnnotationComeBehindThoseBesideIt() {
    assertThat(plans.logs(Methods.class, "ruled"))
        .containsExactly("limitType = IP: 1-per-60s, 5-per-60s");
  }

  @Test
  void aComposedAnnotationMayBearAnother() {
    assertThat(plans.logs(Methods.class, "nested"))
        .containsExactly("limitType = IP: 6-per-60s, 5-per-60s");
  }

  @Test
  void composedAnnotationsAddUpAndEqualRulesCountOnce() {
    assertThat(plans.logs(Methods.class, "several"))
        .containsExactly("limitType = IP: 6-per-60s, 5-per-60s");
  }

  /** A composed annotation is in the same place as what stands beside it. */
  @Test
  void rulesBesideAComposedLimiterJoinIt() {
    assertThat(plans.logs(Methods.class, "joined"))
        .containsExactly("limitType = USER_ID: 3-per-60s, 4-per-60s");
  }

  @Test
  void aComposedAnnotationOnAClassHoldsForEachOfItsMethods() {
    assertThat(plans.logs(OnClass.class, "first")).containsExactly("limitType = IP: 5-per-60s");
    assertThat(plans.logs(OnClass.class, "second")).containsExactly("limitType = IP: 5-per-60s");
    assertThat(plans.of(OnClass.class, "first").policy().limit())
        .isNotEqualTo(plans.of(OnClass.class, "second").policy().limit());
  }

  @Test
  void aComposedAnnotationMayExempt() {
    assertThat(plans.find(OnClass.class, "free")).isEmpty();
  }

  /** As Java and Micronaut have it for any annotation. */
  @Test
  void onlyAnInheritedComposedAnnotationHoldsForImplementations() {
    assertThat(plans.logs(Implementation.class, "inherited"))
        .containsExactly("limitType = IP: 7-per-60s");
    assertThat(plans.find(Implementation.class, "notInherited")).isEmpty();
  }

  @Test
  void anExpressionOfAComposedAnnotationIsReadForEachUseByItself() {
    Methods bean = plans.context().getBean(Methods.class);

    bean.byText("first", "555");
    bean.byNumber(556);
    bean.byText("other", "555");

    var keys =
        plans.context().getBean(RecordedDecisions.class).requests().stream()
            .map(request -> request.charges().get(0).key())
            .toList();
    assertThat(keys.get(0)).isEqualTo(keys.get(2)).isNotEqualTo(keys.get(1));
    assertThat(plans.logs(Methods.class, "byText"))
        .containsExactly("subject = #{phone}: 2-per-60s");
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
  static class Methods {
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
  static class OnClass {
    void first() {}

    void second() {}

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
