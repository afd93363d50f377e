// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Fallback;
import io.limiter.core.Policy;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.testing.FileService;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings of a policy that does not exist stop the start: the intended policy would lack them. */
class ConfiguredPoliciesTest {

  private static final String SPEC = "ConfiguredPoliciesTest";

  @TempDir Path directory;

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Sms {
    @RateLimiter(value = "sms", rules = @RateRule)
    void send() {}

    @RateRule
    void nameless(String phone) {}

    @RateLimiter(value = "camelCase", rules = @RateRule)
    void camel() {}
  }

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Beans {
    @Bean
    @Singleton
    @RateLimiter(value = "mail", rules = @RateRule)
    Mailer mailer() {
      return () -> {};
    }

    @Singleton
    Policy failures() {
      return Policy.of("login-failures", SlidingWindowLogRule.of(3, Duration.ofMinutes(1)));
    }
  }

  /** Made by a factory, so planned when it is first called. */
  interface Mailer {
    void send();
  }

  @Test
  void theMessageNamesPropertyValueKnownNamesAndRemedy() {
    assertThat(mistake("limiter.policies.smss.fallback", "deny"))
        .isEqualTo(
            "limiter.policies.smss.fallback = deny in context: no policy is named 'smss': did you mean sms? Else use one of camelCase, login-failures, mail, sms, set this name on a @RateLimiter, define its rules or duplicate.enabled here, or, for a policy from code, make it a bean of type io.limiter.core.Policy");
  }

  @ParameterizedTest
  @ValueSource(strings = {"SMS", "Sms", "sms ", "login_failures", "io.limiter"})
  void everyCharacterDistinguishesNames(String name) {
    assertThat(mistake("limiter.policies." + name + ".deadline", "50ms"))
        .contains("no policy is named '" + name + "'");
  }

  @Test
  void whereNoPolicyHasANameTheMessageStatesIt() {
    assertThat(Starts.mistake(Map.of("limiter.policies.sms.fallback", "deny")).getMessage())
        .startsWith(
            "limiter.policies.sms.fallback = deny in context: no policy is named 'sms': use ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sms",
        "mail",
        "login-failures",
        "io.limiter.micronaut.metadata.ConfiguredPoliciesTest$Sms.nameless(java.lang.String)"
      })
  void policiesOfAnnotationsOfFactoriesAndOfBeansAreKnown(String name) {
    try (ApplicationContext context =
        start(Map.of("limiter.policies." + name + ".fallback", "deny"))) {
      assertThat(configured(context).apply(policy(name))).isEqualTo(Fallback.DENY);
      assertThat(configured(context).apply(policy("other"))).isEqualTo(Fallback.LOCAL);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sms", "mail"})
  void policiesOfMethodsMayBeObserved(String name) {
    try (ApplicationContext context =
        start(Map.of("limiter.policies." + name + ".observe", true))) {
      assertThat(context.getBean(PoliciesConfiguration.class).observed()).containsExactly(name);
    }
  }

  @Test
  void aPolicyThatCodeAsksForIsObservedThere() {
    assertThat(mistake("limiter.policies.login-failures.observe", "true"))
        .isEqualTo(
            "limiter.policies.login-failures.observe = true in context: only policies of annotated methods are observed by configuration, and this one comes from code: remove it, and use request.observe() there");
  }

  @Test
  void aPolicyThatCodeAsksForHasItsRulesThere() {
    assertThat(mistake("limiter.policies.login-failures.rules[0].count", "3"))
        .isEqualTo(
            "limiter.policies.login-failures.rules[0].count = 3 in context: this policy comes from code, which only fallback, deadline and deny-cache can change: remove it");
  }

  /**
   * Rules alone make a policy, so a mistyped name is no mistake; it limits nothing all the same.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "policies: {smss: {rules: [{count: 2, time: 60s}]}} | smss | ; did you mean sms?",
        "policies.smss.rules[0]: {count: 2, time: 60s} | smss | ; did you mean sms?",
        "policies: {Sms: {enabled: false, rules: [{count: 2, time: 60s}]}} | Sms | ; did you mean sms?",
        "policies: {camel-case: {rules: [{count: 2, time: 60s}]}} | camel-case | ; did you mean camelCase?",
        "policies: {other: {rules: [{count: 2, time: 60s}]}} | other | ''",
        "{policies: {sms-: {rules: [{count: 2, time: 60s}]}}, tiers: {pro: {sms-: unlimited}}} | sms- | ; did you mean sms?",
      })
  void rulesOfAPolicyThatNothingNamesAreAWarning(String yaml, String policy, String advice) {
    String warning =
        "WARN The policy '%s' limits no call: it has rules in the configuration, and neither an annotation nor a route names it%s"
            .formatted(policy, advice);
    FileService.write(directory, "limiter:\n  " + yaml);
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.PolicyWarnings");
        FileService service = new FileService(SPEC, directory)) {
      assertThat(log.lines()).containsOnlyOnce(warning);
      log.clear();

      service.write("limiter:\n  policies: {mail: {rules: [{count: 2, time: 60s}]}}");
      service.refresh();
      assertThat(log.messages()).isEmpty();

      service.write("limiter:\n  " + yaml);
      service.refresh();
      assertThat(log.lines()).containsOnlyOnce(warning);
    }
  }

  @Test
  void aRefreshNamesWhatHasNoEffectToo() {
    FileService.write(directory, "");
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.PolicyWarnings");
        FileService service = new FileService(SPEC, directory)) {
      service.write("limiter: {tiers: {pro: {sms: unlimited}}}");
      service.refresh();
      service.write("limiter: {tiers: {pro: {sms: unlimited}}, exempt: {users: [ada]}}");
      service.refresh();
      assertThat(log.messages())
          .satisfiesExactlyInAnyOrder(
              it -> assertThat(it).startsWith("limiter.tiers has rules of tiers, but no bean"),
              it -> assertThat(it).startsWith("limiter.exempt.users or limiter.block.users has"));
    }
  }

  @Test
  void theyAreReadFromYaml() {
    try (ApplicationContext context =
        start(
            Sources.yaml(
                """
                limiter:
                  fallback: allow
                  policies:
                    sms:
                      fallback: DENY
                      deadline: 20ms
                    login-failures:
                      fallback: ${nowhere:local}
                """))) {
      PoliciesConfiguration policies = context.getBean(PoliciesConfiguration.class);
      RedisSettings settings = RedisSettings.defaults().withPolicyDeadlines(policies.deadlines());
      assertThat(settings.deadline(policy("sms"))).isEqualTo(Duration.ofMillis(20));
      assertThat(settings.deadline(policy("mail"))).isEqualTo(RedisSettings.DEFAULT_DEADLINE);
      Function<Policy, Fallback> fallbacks = policies.fallbacks(Fallback.ALLOW);
      assertThat(fallbacks.apply(policy("sms"))).isEqualTo(Fallback.DENY);
      assertThat(fallbacks.apply(policy("login-failures"))).isEqualTo(Fallback.LOCAL);
      assertThat(fallbacks.apply(policy("mail"))).isEqualTo(Fallback.ALLOW);
    }
  }

  private static Function<Policy, Fallback> configured(ApplicationContext context) {
    return context.getBean(PoliciesConfiguration.class).fallbacks(Fallback.LOCAL);
  }

  private static Policy policy(String name) {
    return Policy.of(name, SlidingWindowLogRule.of(1, Duration.ofMinutes(1)));
  }

  private static String mistake(String property, String value) {
    return String.valueOf(Starts.mistake(Map.of("spec.name", SPEC, property, value)).getMessage());
  }

  private static ApplicationContext start(Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>(settings);
    all.put("spec.name", SPEC);
    return ApplicationContext.run(all);
  }
}
