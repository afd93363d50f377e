// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Configuration sets everything about a policy that annotations do. */
class ConfiguredLimitsTest {

  private static final String SPEC = "ConfiguredLimitsTest";

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Limits {

    @RateLimiter(
        value = "named",
        rules = {@RateRule(count = 5), @RateRule(count = 50, time = 1, timeUnit = TimeUnit.HOURS)})
    public void named() {}

    @RateLimiter("empty")
    @RateRule(count = 5, name = "burst")
    @RateRule(count = 3, tokenBucket = @TokenBucket(refill = 2, initial = 1))
    @ConcurrencyLimit(3)
    public void beside() {}

    @RateLimiter(
        value = "banned",
        ban = @Ban(violations = 3, time = 5, timeUnit = TimeUnit.MINUTES))
    @RateRule
    public void banned() {}

    @RateLimiter(
        value = "submitted",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 10),
        duplicate = @Duplicate(by = DuplicateBy.CALLER, status = 410))
    public void submitted(String text) {}

    @RateLimiter("shorthand")
    @RateRule
    @PreventDuplicate(within = 7)
    public void shorthand(String text) {}

    @RateRule(count = 4)
    public void nameless() {}

    @RateLimiter("queue")
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10, maxWait = 3))
    public void queue() {}

    @RateLimiter(value = "argument", subject = "#{phone}", rules = @RateRule)
    public void argument(String phone) {}

    @RateLimiter(value = "twice", rules = @RateRule(count = 5))
    public void one() {}

    @RateLimiter(value = "twice", rules = @RateRule(count = 6))
    public void two() {}
  }

  @Test
  void itReplacesTheRulesBesideTheAnnotationToo() {
    try (Plans plans = with("limiter.policies.empty.rules[0].count", 1)) {
      assertThat(Plans.logs(plans.of(Limits.class, "beside")))
          .containsExactly("limitType = IP: 1-per-60s");
    }
  }

  @Test
  void oneNumberOfOneRuleIsChangedByTheNameThatTheCodeGivesIt() {
    try (Plans plans =
        with(
            "limiter.policies.named.rules.5-per-60s.count", 8,
            "limiter.policies.empty.rules.burst.time", "10s",
            "limiter.policies.empty.rules.3-at-2-per-60s.token-bucket.refill", 3,
            "limiter.policies.empty.rules.3-in-flight.count", 4)) {
      assertThat(Plans.logs(plans.of(Limits.class, "named")))
          .containsExactly("limitType = IP: 8-per-60s, 50-per-3600s");
      List<Rule> rules = rules(plans, "beside");
      assertThat(rules)
          .extracting(Rule::name)
          .containsExactly("burst", "3-at-3-per-60s", "4-in-flight");
      assertThat(rules.get(0).window()).isEqualTo(Duration.ofSeconds(10));
      assertThat(rules.get(0).capacity()).isEqualTo(5);
      assertThat(rules.get(1))
          .hasToString(rules.get(1).toString())
          .extracting("initial")
          .isEqualTo(1L);
    }
  }

  @Test
  void anotherAlgorithmReplacesTheOneOfTheAnnotation() {
    try (Plans plans =
        with(
            "limiter.policies.empty.rules.3-at-2-per-60s.algorithm",
            "fixed-window",
            "limiter.policies.empty.rules.burst.token-bucket.refill",
            1)) {
      assertThat(rules(plans, "beside"))
          .extracting(rule -> rule.getClass().getSimpleName())
          .containsExactly("TokenBucketRule", "FixedWindowRule", "ConcurrencyLimitRule");
    }
  }

  @Test
  void aConfiguredTimeHasItsOwnUnitAndLeavesOthersAlone() {
    try (Plans plans = with("limiter.policies.queue.rules.2-per-1s-queue-10.time", "500ms")) {
      assertThat(rules(plans, "queue").get(0))
          .extracting("maxWait")
          .isEqualTo(Duration.ofSeconds(3));
      assertThat(rules(plans, "queue").get(0).window()).isEqualTo(Duration.ofMillis(500));
    }
  }

  @Test
  void bansAreChangedMemberByMember() {
    try (Plans plans =
        with(
            "limiter.policies.banned.ban.violations", 7, "limiter.policies.named.ban.time", "1h")) {
      assertThat(ban(plans, "banned").violations()).isEqualTo(7);
      assertThat(ban(plans, "banned").time()).isEqualTo(Duration.ofMinutes(5));
      assertThat(ban(plans, "named").time()).isEqualTo(Duration.ofHours(1));
    }
  }

  @Test
  void duplicateGuardsAreChangedAddedAndRemoved() {
    try (Plans plans =
        with(
            "limiter.policies.submitted.duplicate.time",
            "30s",
            "limiter.policies.submitted.duplicate.by",
            "arguments",
            "limiter.policies.shorthand.duplicate.time",
            "9s",
            "limiter.policies.shorthand.duplicate.count",
            2,
            "limiter.policies.shorthand.duplicate.status",
            410,
            "limiter.policies.named.duplicate.enabled",
            true)) {
      assertThat(guard(plans, "submitted")).isEqualTo("1-per-30s ByArguments 410");
      assertThat(guard(plans, "shorthand")).isEqualTo("2-per-9s ByArguments 410");
      assertThat(guard(plans, "named")).isEqualTo("1-per-5s ByCaller");
    }
    try (Plans plans =
        with(
            "limiter.policies.submitted.rules[0].count", 5,
            "limiter.policies.submitted.duplicate.enabled", false,
            "limiter.policies.shorthand.duplicate.enabled", false)) {
      assertThat(plans.of(Limits.class, "submitted").duplicates()).isEmpty();
      assertThat(plans.of(Limits.class, "shorthand").duplicates()).isEmpty();
    }
  }

  @Test
  void aConfiguredSubjectReplacesTheExpressionOfTheAnnotation() {
    try (Plans plans = with("limiter.policies.argument.limit-type", "user-id")) {
      assertThat(Plans.logs(plans.of(Limits.class, "argument")))
          .containsExactly("limitType = USER_ID: 10-per-60s");
    }
  }

  @Test
  void settingsHoldForAllMethodsOfAPolicy() {
    try (Plans plans = with("limiter.policies.twice.rules.5-per-60s.count", 7)) {
      assertThat(Plans.logs(plans.of(Limits.class, "one")))
          .containsExactly("limitType = IP: 7-per-60s");
      assertThat(Plans.logs(plans.of(Limits.class, "two")))
          .containsExactly("limitType = IP: 6-per-60s");
    }
  }

  @Test
  void aPolicyWithoutANameIsConfiguredByThatOfItsMethod() {
    try (Plans plans =
        with(
            "limiter.policies." + Limits.class.getName() + ".nameless().rules.4-per-60s.count",
            9)) {
      assertThat(Plans.logs(plans.of(Limits.class, "nameless")))
          .containsExactly("limitType = IP: 9-per-60s");
    }
  }

  @Test
  void aVariableChangesARuleOnTrialOfAFile() {
    PropertySource file =
        source(
            "file",
            -300,
            PropertyConvention.JAVA_PROPERTIES,
            "limiter.policies.named.trial[0].count",
            "3",
            "limiter.policies.named.trial[0].time",
            "1h");
    PropertySource variables =
        source(
            "variables",
            -200,
            PropertyConvention.ENVIRONMENT_VARIABLE,
            "LIMITER_POLICIES_NAMED_TRIAL_0_COUNT",
            "2");
    try (Plans plans = sources(file, variables)) {
      assertThat(Plans.logs(plans.of(Limits.class, "named")))
          .containsExactly(
              "limitType = IP: 5-per-60s, 50-per-3600s",
              "key = " + Limits.class.getName() + ".named() trial, limitType = IP: 2-per-3600s");
    }
  }

  @Test
  void variablesTakePrecedenceOverFilesButNotOverCode() {
    PropertySource file =
        source(
            "file",
            -300,
            PropertyConvention.JAVA_PROPERTIES,
            "limiter.policies.named.rules.5-per-60s.count",
            "6");
    PropertySource variables =
        source(
            "variables",
            -200,
            PropertyConvention.ENVIRONMENT_VARIABLE,
            "LIMITER_POLICIES_NAMED_RULES_5_PER_60S_COUNT",
            "7",
            "LIMITER_POLICIES_NAMED_RULES_50_PER_3600S_TIME",
            "2h",
            "LIMITER_POLICIES_SUBMITTED_DUPLICATE_STATUS",
            "418",
            "LIMITER_POLICIES_BANNED_ENABLED",
            "false");
    try (Plans plans = sources(file, variables)) {
      assertThat(Plans.logs(plans.of(Limits.class, "named")))
          .containsExactly("limitType = IP: 7-per-60s, 50-per-7200s");
      assertThat(guard(plans, "submitted")).endsWith(" 418");
      assertThat(plans.find(Limits.class, "banned")).isEmpty();
    }
    PropertySource code =
        source(
            "code",
            0,
            PropertyConvention.JAVA_PROPERTIES,
            "limiter.policies.named.rules.5-per-60s.count",
            "9");
    try (Plans plans = sources(file, variables, code)) {
      assertThat(Plans.logs(plans.of(Limits.class, "named")))
          .containsExactly("limitType = IP: 9-per-60s, 50-per-7200s");
    }
  }

  @Test
  void aListReplacesTheListOfALowerSource() {
    PropertySource low =
        source(
            "low",
            -300,
            PropertyConvention.JAVA_PROPERTIES,
            "limiter.policies.named.rules[0].count",
            "1",
            "limiter.policies.named.rules[1].count",
            "20",
            "limiter.policies.named.rules[1].time",
            "1h");
    PropertySource high =
        source(
            "high",
            0,
            PropertyConvention.JAVA_PROPERTIES,
            "limiter.policies.named.rules[0].time",
            "5s");
    try (Plans plans = sources(low, high)) {
      assertThat(Plans.logs(plans.of(Limits.class, "named")))
          .containsExactly("limitType = IP: 10-per-5s");
    }
  }

  @Test
  void placeholdersAreResolved() {
    try (Plans plans =
        yaml(
            """
            own: {count: 11}
            limiter.policies.named.rules: [{count: "${own.count}", time: "${nowhere:2s}"}]
            """)) {
      assertThat(Plans.logs(plans.of(Limits.class, "named")))
          .containsExactly("limitType = IP: 11-per-2s");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "named.rules.5-per-60s.count | 0 | set it to 1 or more",
        "named.rules.5-per-60s.count | many | set it to a whole number",
        "named.rules.5-per-60s.time | 60 | set it to a time with its unit, such as 60s or 1h",
        "named.rules.5-per-60s.time | 400d | set it to 1 ms to 366 days",
        "named.rules.5-per-60s.algorithm | FOO | set it to one of sliding-window-log",
        "named.rules.5-per-60s.token-bucket.refill | 0 | set it to 1 to",
        "named.rules.5-per-61s.count | 3 | the policy 'named' has no rule '5-per-61s': use one of 5-per-60s, 50-per-3600s",
        "named.rules[0].cont | 3 | there is no such setting of a rule; did you mean count",
        "named.rules | 3 | write a list of rules, or settings by the names of rules",
        "named.trial[0].observe | true | a rule on trial is only observed: remove it",
        "named.rules[0].subject | nowhere | no bean of type io.limiter.micronaut.annotation.SubjectResolver has this name",
        "named.status | 200 | set it to an error status, 400 to 599",
        "named.status | teapot | set it to a whole number",
        "named.ban.violatons | 3 | there is no such setting of a policy; did you mean ban.violations?",
        "named.duplicate.by | ARGUMENTS | the method has no arguments",
        "api.rules[0].count | -1 | set it to 1 or more",
        "api.rules[0].count | 20000 | an exact log stores every call",
        "api.limit-typ | IP | there is no such setting of a policy; did you mean limit-type?",
      })
  void mistakesNameKeyValueSourceAndRemedy(String path, String value, String remedy) {
    String key = "limiter.policies." + path;

    String mistake =
        String.valueOf(Starts.mistake(Map.of("spec.name", SPEC, key, value)).getMessage());

    assertThat(mistake).contains(key + " = " + value).contains(remedy);
  }

  private static List<Rule> rules(Plans plans, String method) {
    return plans.of(Limits.class, method).charges().stream()
        .flatMap(planned -> planned.rules().rules().stream())
        .toList();
  }

  private static BanRule ban(Plans plans, String method) {
    return plans.of(Limits.class, method).charges().get(0).rules().ban().orElseThrow();
  }

  private static String guard(Plans plans, String method) {
    return plans
        .of(Limits.class, method)
        .duplicates()
        .map(
            guard ->
                Plans.names(guard.stack())
                    + " "
                    + guard.submission().getClass().getSimpleName()
                    + (guard.text().status().isPresent()
                        ? " " + guard.text().status().getAsInt()
                        : ""))
        .orElseThrow();
  }

  private static Plans with(Object... settings) {
    Map<String, Object> all = new HashMap<>();
    for (int i = 0; i < settings.length; i += 2) {
      all.put((String) settings[i], settings[i + 1]);
    }
    all.put("spec.name", SPEC);
    return new Plans(ApplicationContext.run(all));
  }

  private static Plans yaml(String text) {
    Map<String, Object> all = new HashMap<>(Sources.yaml(text));
    all.put("spec.name", SPEC);
    return new Plans(ApplicationContext.run(all));
  }

  private static PropertySource source(
      String name, int order, PropertyConvention convention, String... settings) {
    Map<String, Object> all = new HashMap<>();
    for (int i = 0; i < settings.length; i += 2) {
      all.put(settings[i], settings[i + 1]);
    }
    return new io.micronaut.context.env.MapPropertySource(name, all) {
      @Override
      public int getOrder() {
        return order;
      }

      @Override
      public PropertyConvention getConvention() {
        return convention;
      }
    };
  }

  private static Plans sources(PropertySource... sources) {
    return new Plans(
        ApplicationContext.builder()
            .properties(Map.of("spec.name", SPEC))
            .propertySources(sources)
            .start());
  }
}
