// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Sources;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import java.io.InputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A client that chooses its subject may choose another each time: the log names at the start the
 * methods that count nothing else.
 */
class StartNotesTest {

  /** Of the policies of these tests, which are never used. */
  private static final String UNUSED = "limits no call: it has rules in the configuration";

  @Controller("/chosen")
  @Requires(property = "spec.name", value = "StartNotesTest")
  static class Chosen {
    @Get("/header")
    @RateLimiter(header = "X-Api-Key", rules = @RateRule)
    void byHeader() {}

    @Get("/argument{?phone}")
    @RateLimiter(subject = "#{phone}", rules = @RateRule)
    void byArgument(String phone) {}

    @Get("/paired")
    @RateLimiter(
        header = "X-Api-Key",
        rules = {@RateRule, @RateRule(count = 100, limitType = LimitType.IP)})
    void paired() {}

    @Get("/address")
    @RateRule
    void byAddress() {}
  }

  @Controller("/guarded")
  @Requires(property = "spec.name", value = "StartNotesTest.duplicates")
  static class Guarded {
    @Post("/arguments/{shop}")
    @RateLimiter(preventDuplicate = true)
    void arguments(String shop, @Body Map<String, Object> order, HttpRequest<?> request) {}

    @Post("/nothing")
    @RateLimiter(preventDuplicate = true)
    void nothing(HttpRequest<?> request) {}

    @Post("/stream")
    @RateLimiter(preventDuplicate = true)
    void stream(@Body InputStream photo) {}

    @Post("/early")
    @RateLimiter(preventDuplicate = true, beforeSecurity = true)
    void early(@Body Map<String, Object> order) {}

    @Post("/written")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void written(@Body Map<String, Object> order) {}

    @Post("/key")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{number}"))
    void key(String number) {}
  }

  @Test
  void aStartNamesTheMethodsThatCountByNothingElse() {
    assertThat(logged(Map.of("spec.name", "StartNotesTest")))
        .singleElement()
        .asString()
        .startsWith("INFO Methods that count only by a header or an argument: 2 (")
        .contains("byHeader()", "byArgument(", "limitType = IP or GLOBAL")
        .doesNotContain("paired", "byAddress");
  }

  @Test
  void aStartNamesWhatTheDefaultOfDuplicateByChose() {
    String bean = Guarded.class.getName() + '.';
    assertThat(logged(Map.of("spec.name", "StartNotesTest.duplicates")))
        .singleElement()
        .asString()
        .startsWith("INFO Methods that compare submissions by the default of @Duplicate: 4 (")
        .contains(
            bean
                + "arguments(java.lang.String,java.util.Map,io.micronaut.http.HttpRequest): ARGUMENTS (shop, order)",
            bean
                + "nothing(io.micronaut.http.HttpRequest): CALLER (the caller provides no argument)",
            bean
                + "stream(java.io.InputStream): CALLER ('photo' cannot be compared because of java.io.InputStream)",
            bean + "early(java.util.Map): CALLER (beforeSecurity = true)")
        .doesNotContain("written(", "key(");
  }

  @Test
  void withoutSuchMethodsNothingIsLogged() {
    assertThat(logged(Map.of("spec.name", "StartNotesTest.none"))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"1200ms, ", "2s, 96", "10s, 85"})
  void aStartWarnsOfALeaseThatIsLongForALog(String lease, @Nullable Integer percent) {
    List<String> lines =
        logged(
            Map.of(
                "spec.name",
                "StartNotesTest.none",
                "limiter.policies.leased.lease",
                lease,
                "limiter.policies.leased.rules",
                List.of(
                    Map.of("count", 100, "time", "60s"),
                    Map.of("count", 10, "time", "20s", "algorithm", "fixed-window"))));
    if (percent == null) {
      assertThat(lines).isEmpty();
    } else {
      assertThat(lines)
          .containsExactly(
              "WARN The policy 'leased': the lease of PT%s is longer than 2 %% of the window of the rule '100-per-60s', so while it denies calls it may admit only %s %% of its count: shorten the lease, or raise the count"
                  .formatted(lease.toUpperCase(Locale.ROOT), percent));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "time: 99ms | the window of the rule '10-per-99ms' is PT0.099S",
        "time: 100ms |",
        "time: 61s}], ban: {time: 60s}, trial: [{time: 60s | the ban of PT1M is shorter than the window of the rule '10-per-61s', PT1M1S",
        "time: 60s}], ban: {time: 60s}, trial: [{time: 60s |",
      })
  void aStartWarnsOfNumbersThatAreProbablyOfAnotherUnit(String rule, @Nullable String warning) {
    List<String> lines =
        logged(
            Sources.yaml(
                "limiter: {policies: {some: {rules: [{count: 10, %s}]}}}".formatted(rule)));
    if (warning == null) {
      assertThat(lines).isEmpty();
    } else {
      assertThat(lines).singleElement().asString().startsWith("WARN The policy 'some': " + warning);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/chosen/** |",
        "/** |",
        "/files/a.css |",
        "/chossen/** | /chossen/**",
        "/chosen/address, methods: [POST] | /chosen/address for [POST]",
        "/chosen/argument/deeper | /chosen/argument/deeper",
      })
  void startAndRefreshWarnOfARouteThatNothingAnswers(String path, @Nullable String named) {
    Map<String, Object> settings =
        Sources.yaml(
            """
            spec.name: StartNotesTest
            micronaut.router.static-resources.files: {paths: "classpath:none", mapping: "/files/**"}
            limiter:
              policies: {some: {rules: [{count: 10}]}}
              routes: [{policy: some, path: %s}]
            """
                .formatted(path));
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.PolicyWarnings");
        ApplicationContext context = ApplicationContext.run(settings)) {
      context.publishEvent(new RefreshEvent());
      if (named == null) {
        assertThat(log.lines()).isEmpty();
      } else {
        assertThat(log.lines())
            .singleElement()
            .asString()
            .contains(
                "limiter.routes[0].path = ",
                ": no route or static file is at "
                    + named
                    + ", so it limits nothing unless a filter answers there: correct the path or the methods");
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/chosen/** | /chosen/address |",
        "/chosen/** | /chosen/adress | /chosen/adress",
        "/chosen/** | /chosen/address,/files/a.css | /files/a.css", // not on this path
        "/** | /files/a.css |",
        "/chosen/*, methods: [POST] | /chosen/address | /chosen/*",
      })
  void theStartWarnsOfAnExceptionThatExceptsNothing(
      String path, String except, @Nullable String named) {
    Map<String, Object> settings =
        Sources.yaml(
            """
            spec.name: StartNotesTest
            micronaut.router.static-resources.files: {paths: "classpath:none", mapping: "/files/**"}
            limiter:
              policies: {some: {rules: [{count: 10}]}}
              routes: [{policy: some, except: [%s], path: %s}]
            """
                .formatted(except, path));
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.PolicyWarnings");
        ApplicationContext context = ApplicationContext.run(settings)) {
      assertThat(context.isRunning()).isTrue();
      if (named == null) {
        assertThat(log.lines()).isEmpty();
      } else if (path.contains("methods")) {
        assertThat(log.lines()).singleElement().asString().contains("so it limits nothing unless");
      } else {
        assertThat(log.lines())
            .singleElement()
            .asString()
            .contains(
                "limiter.routes[0].except = %s in ".formatted(named),
                ": no route or static file of this path is there, so it excepts nothing unless a filter answers there: correct or remove it");
      }
    }
  }

  @Test
  void aThousandRoutesThatNothingAnswersDoNotFillTheLog() {
    Map<String, Object> settings = new HashMap<>();
    settings.put("spec.name", "StartNotesTest");
    settings.put("limiter.policies.some.rules[0].count", 10);
    for (int i = 0; i < 1_000; i++) {
      settings.put("limiter.routes[" + i + "].path", "/absent/" + i);
      settings.put("limiter.routes[" + i + "].policy", "some");
    }
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.PolicyWarnings");
        ApplicationContext context = ApplicationContext.run(settings)) {
      assertThat(context.isRunning()).isTrue();
      assertThat(log.messages()).hasSize(101);
      assertThat(log.messages().get(100))
          .isEqualTo("900 more warnings about policies and routes are not listed");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "LIMITER_POLICIES_SERCH_RULES_0_COUNT, LIMITER_POLICIES_SEARCH_RULES_0_COUNT",
    "LIMITER_POLICIES_SERCH_COST, LIMITER_POLICIES_SEARCH_COST",
    "LIMITER_POLICIES_SEARCH_CODE_CST, LIMITER_POLICIES_SEARCH_CODE_COST",
    "LIMITER_POLICIES_SEARCH_CST, LIMITER_POLICIES_SEARCH_COST",
  })
  void aVariableWithoutEffectIsCorrectedWhereItIsMistaken(String variable, String meant) {
    Map<String, Object> settings =
        Sources.yaml(
            """
            spec.name: StartNotesTest
            limiter:
              policies: {search: {rules: [{count: 10}]}, search-code: {rules: [{count: 10}]}}
              routes: [{policy: search, path: /chosen/**}, {policy: search-code, path: /chosen/**}]
            """);
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.PolicyWarnings");
        ApplicationContext context =
            ApplicationContext.builder()
                .properties(settings)
                .propertySources(
                    PropertySource.of(
                        "env",
                        Map.of(variable, "1"),
                        PropertySource.PropertyConvention.ENVIRONMENT_VARIABLE))
                .start()) {
      assertThat(context.isRunning()).isTrue();
      assertThat(log.lines())
          .singleElement()
          .asString()
          .startsWith("WARN The environment variable " + variable + " has no effect")
          .endsWith("; did you mean " + meant + "?");
    }
  }

  private static List<String> logged(Map<String, Object> settings) {
    try (RecordedLog log = RecordedLog.ofInfo("io.limiter.micronaut.diagnostics.PolicyWarnings")) {
      try (ApplicationContext context = ApplicationContext.run(settings)) {
        assertThat(context.isRunning()).isTrue();
      }
      return log.lines().stream().filter(line -> !line.contains(UNUSED)).toList();
    }
  }
}
