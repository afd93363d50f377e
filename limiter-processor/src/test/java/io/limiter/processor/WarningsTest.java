// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What compiles and starts, but is probably not intended. */
class WarningsTest {

  @TempDir private Path output;

  @Test
  void aRuleThatAnotherPrecedesNeverDenies() {
    assertThat(
            warnings(
                "@RateRule(count = 10, time = 60) @RateRule(count = 20, time = 120) void call() {}"))
        .singleElement()
        .satisfies(
            warning -> {
              assertThat(warning.message())
                  .isEqualTo(
                      "compiled.Bean.call(): @RateRule = 20-per-120s: it never denies a call, since the rule '10-per-60s' admits at most 20 in the same time: remove it, or change its numbers");
              assertThat(warning.line()).startsWith("@RateRule(count = 10");
            });
  }

  @ParameterizedTest
  @CsvSource({
    "10, 60, 19, 120, 0",
    "10, 60, 20, 120, 1",
    "10, 60, 20, 119, 1",
    "10, 60, 20, 121, 0", // two whole windows and a second of a third
    "10, 60, 30, 121, 1",
    "10, 60, 10, 30, 1",
    "10, 60, 9, 30, 0",
    "1, 60, 10, 3600, 0",
    "10, 60, 10, 60, 0", // the same rule
  })
  void onlyRulesThatNeverDenyAreReported(
      int count, int time, int otherCount, int otherTime, int warnings) {
    String method =
        "@RateRule(count = %s, time = %s) @RateRule(count = %s, time = %s) void call() {}"
            .formatted(count, time, otherCount, otherTime);
    assertThat(warnings(method)).hasSize(warnings);
  }

  @Test
  void aMethodMayLimitMoreThanItsClass() {
    assertThat(
            Compilation.of(
                    output,
                    """
                    @Singleton @RateRule(count = 100, time = 60)
                    class Bean {
                      @RateRule(count = 1, time = 60) void call() {}
                    }
                    """)
                .warnings())
        .isEmpty();
  }

  @Test
  void rulesThatCountOthersAreNotCompared() {
    assertThat(
            warnings(
                "@RateRule(count = 10, time = 60) @RateRule(count = 20, time = 120, limitType = LimitType.GLOBAL) void call() {}"))
        .isEmpty();
    assertThat(
            warnings(
                "@RateRule(count = 10, time = 60) @RateRule(count = 20, time = 120, counts = Counts.FAILURES) void call() {}"))
        .isEmpty();
    assertThat(
            warnings(
                "@RateRule(count = 10, time = 60, algorithm = Algorithm.FIXED_WINDOW) @RateRule(count = 20, time = 120) void call() {}"))
        .isEmpty();
  }

  @Test
  void aLimitForUsersWithoutSecurityIsReported() {
    assertThat(warnings("@RateRule(limitType = LimitType.USER_ID) void call() {}"))
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning.message())
                    .contains("micronaut-security is not on the class path"));
  }

  @Test
  void aLimitByWhatCallersChooseAloneIsReported() {
    assertThat(warnings("@RateRule(header = \"X-Api-Key\") void call() {}"))
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning.message())
                    .startsWith("compiled.Bean.call(): it counts only by header = x-api-key")
                    .contains("An additional rule with limitType = IP or GLOBAL prevents that"));
    assertThat(
            warnings(
                "@RateRule(header = \"X-Api-Key\") @RateRule(limitType = LimitType.GLOBAL) void call() {}"))
        .isEmpty();
  }

  @Test
  void aLeaseThatIsLongForALogIsReported() {
    String method = "@RateLimiter(lease = \"%s\", rules = @RateRule(time = 60)) void call() {}";
    assertThat(warnings(method.formatted("2s")))
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning.message())
                    .isEqualTo(
                        "compiled.Bean.call(): the lease of PT2S is longer than 2 % of the window of the rule '10-per-60s', so while it denies calls it may admit only 96 % of its count: shorten the lease, or raise the count"));
    assertThat(warnings(method.formatted("1s"))).isEmpty();
  }

  @Test
  void windowsInAnotherUnitAreReported() {
    assertThat(warnings("@RateRule(time = 99, timeUnit = TimeUnit.MILLISECONDS) void call() {}"))
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning.message())
                    .isEqualTo(
                        "compiled.Bean.call(): the window of the rule '10-per-99ms' is PT0.099S, which a command to Redis may take: use 100 ms or more"));
    assertThat(warnings("@RateRule(time = 100, timeUnit = TimeUnit.MILLISECONDS) void call() {}"))
        .isEmpty();
    assertThat(
            warnings(
                "@RateLimiter(ban = @Ban(time = 59), rules = @RateRule(time = 60)) void call() {}"))
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning.message())
                    .endsWith(
                        "the ban of PT59S is shorter than the window of the rule '10-per-60s', PT1M, which may deny its subject for longer: lengthen the ban, or remove it"));
    assertThat(
            warnings(
                "@RateLimiter(ban = @Ban(time = 60), rules = @RateRule(time = 60)) void call() {}"))
        .isEmpty();
  }

  @Test
  void mistakesThatSettingsMayCorrectAreWarnings() {
    assertThat(warnings("@RateLimiter(\"login\") void call() {}"))
        .singleElement()
        .satisfies(warning -> assertThat(warning.message()).contains("nothing is limited"));
    assertThat(
            warnings("@RateLimiter(cost = \"20\", rules = @RateRule(count = 10)) void call() {}"))
        .singleElement()
        .satisfies(
            warning -> assertThat(warning.message()).contains("no call could ever be admitted"));
  }

  @Test
  void limitsInAClassThatIsNoBean() {
    assertThat(Compilation.of(output, "class Bean {\n@RateRule void call() {}\n}").warnings())
        .singleElement()
        .satisfies(
            warning -> {
              assertThat(warning.message())
                  .startsWith("compiled.Bean: its limits have no effect, since the class is not");
              assertThat(warning.line()).isEqualTo("class Bean {");
            });
  }

  @ParameterizedTest
  @CsvSource({
    "@jakarta.inject.Named class Bean { @RateRule void call() {} }",
    "@RateRule class Bean { void call() {} }",
    "@Prototype class Bean { @RateRule void call() {} }",
    "abstract class Bean { @RateRule void call() {} }",
    "class Bean { @jakarta.inject.Inject Bean(Runnable x) {} @RateRule void call() {} }",
  })
  void beansAreKnownByTheirAnnotations(String source) {
    assertThat(Compilation.of(output, source).warnings()).isEmpty();
  }

  @Test
  void warningsAreSilencedByAnAnnotationOrAnOption() {
    String rule = "@RateRule(header = \"X-Api-Key\") void call() {}";
    assertThat(warnings("@SuppressWarnings(\"limiter\") " + rule)).isEmpty();
    assertThat(warnings("@SuppressWarnings({\"unused\", \"limiter\"}) " + rule)).isEmpty();
    assertThat(warnings("@SuppressWarnings(\"unused\") " + rule)).hasSize(1);
    assertThat(
            Compilation.of(
                    output,
                    "@SuppressWarnings(\"limiter\") @Singleton class Bean {\n" + rule + "\n}")
                .warnings())
        .isEmpty();
    assertThat(
            Compilation.of(
                    output,
                    "@Singleton class Bean {\n" + rule + "\n}",
                    "-A" + CompilerOptions.WARNINGS + "=false")
                .warnings())
        .isEmpty();
  }

  private List<Compilation.Found> warnings(String method) {
    Compilation compiled = Compilation.of(output, "@Singleton class Bean {\n" + method + "\n}");
    assertThat(compiled.errors()).isEmpty();
    return compiled.warnings();
  }
}
