// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.config.FixedSettings;
import io.limiter.micronaut.testing.DocumentedSettings;
import io.limiter.micronaut.testing.Starts;
import io.limiter.overload.Criticality.Level;
import io.limiter.overload.OverloadConfiguration.LimitSettings;
import io.limiter.overload.OverloadConfiguration.Local;
import io.limiter.overload.OverloadConfiguration.Paths;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.Origin;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.inject.qualifiers.Qualifiers;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OverloadConfigurationTest {

  private static final LimitSettings USUAL =
      new LimitSettings(false, 4, 100, 1_000, Duration.ofMillis(20), 1_000);

  @AutoClose private final RecordedLog log = RecordedLog.of(SettingsCheck.class);

  private static OverloadConfiguration of(Map<String, Object> settings) {
    try (ApplicationContext context = ApplicationContext.run(settings)) {
      return context.getBean(OverloadConfiguration.class);
    }
  }

  @Test
  void theDefaultsAreAsDocumented() {
    OverloadConfiguration usual = of(Map.of());
    assertThat(usual.enabled()).isFalse();
    assertThat(usual.http()).isEqualTo(USUAL);
    assertThat(usual.streams()).isFalse();
    assertThat(usual.criticality()).isEqualTo(Level.NORMAL);
    assertThat(usual.header()).isEqualTo("X-Criticality");
    assertThat(usual.trusted()).isEmpty();
    assertThat(usual.retryAfter()).isEqualTo(Duration.ofSeconds(2));
  }

  @Test
  void settingsAreRead() {
    Map<String, Object> settings =
        Map.of(
            "limiter",
            Map.of("overload", Map.of("min", 2, "max", 50, "max-wait", "5ms")),
            "limiter.overload.paths.critical",
            List.of("/pay/**", "/login"),
            "limiter.overload.paths.exempt",
            "/ping",
            "limiter.overload.local.inventory.max",
            8,
            "limiter.overload.criticality",
            "Low");
    try (ApplicationContext context = ApplicationContext.run(settings)) {
      OverloadConfiguration read = context.getBean(OverloadConfiguration.class);
      assertThat(read.http())
          .isEqualTo(new LimitSettings(false, 2, 50, 50, Duration.ofMillis(5), 1_000));
      assertThat(read.criticality()).isEqualTo(Level.LOW);
      assertThat(context.getBean(Paths.class))
          .isEqualTo(
              new Paths(List.of("/ping"), Map.of(Level.CRITICAL, List.of("/pay/**", "/login"))));
      assertThat(context.getBean(Local.class, Qualifiers.byName("inventory")).limit())
          .isEqualTo(new LimitSettings(false, 4, 8, 8, Duration.ofMillis(20), 1_000));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "min|0|limiter.overload.min = 0: set it to 1 to 100000",
        "max|3|limiter.overload.max = 3: it is below limiter.overload.min = 4: set it to that or more, or lower the other",
        "initial|0|limiter.overload.initial = 0: set it to 1 to 100000",
        "max-wait|2s|limiter.overload.max-wait = 2000 ms: set it to 0 ms to 1000 ms",
        "max-waiting|-1|limiter.overload.max-waiting = -1: set it to 0 to 100000",
        "initial|abc|limiter.overload.initial = abc: set it to a number",
        "max-wait|soon|limiter.overload.max-wait = soon: set it to a time, such as 500ms",
        "retry-after|soon|limiter.overload.retry-after = soon: set it to a time, such as 500ms",
        "local.inventory.max|many|limiter.overload.local.inventory.max = many: set it to a number",
        "criticality|urgent|limiter.overload.criticality = urgent: set it to one of critical, high, normal, low, background",
        "retry-after|0s|limiter.overload.retry-after = 0 ms: set it to 1000 ms to 3600000 ms",
        "header|X Y|limiter.overload.header = X Y: set it to the name of a header field, such as X-Criticality",
        "enabled|tru|limiter.overload.enabled = tru: set it to true or false",
        "paths.low|reports|limiter.overload.paths.low = reports: a path begins with a slash: write one such as /api/**",
        "paths.exempt|/hooks/{id}|limiter.overload.paths.exempt = /hooks/{id}: a pattern has no variables: write /hooks/*",
        "local.inventory.observe|tru|limiter.overload.local.inventory.observe = tru: set it to true or false",
        "local.inventory.max|0|limiter.overload.local.inventory.max = 0: set it to 1 to 100000",
        "local.http.max|9|limiter.overload.local.http: this is the name of requests: write their settings under limiter.overload, or choose another name"
      })
  void aMistakeStopsTheStart(String name, String value, String message) {
    assertThat(Starts.mistake(Map.of("limiter.overload." + name, value))).hasMessage(message);
  }

  @Test
  void aNameThatNoSettingHasStopsTheStart() {
    assertThat(
            Starts.mistake(
                Map.of(
                    "limiter.overload.max-waits", "1s",
                    "limiter.overload.paths.urgent", "/pay",
                    "limiter.overload.local.inventory.most", 1)))
        .hasMessageContaining(
            "limiter.overload.max-waits: there is no such setting; did you mean limiter.overload.max-wait?")
        .hasMessageContaining(
            "limiter.overload.paths.urgent: there is no such setting; the criticalities are critical, high, normal, low, background, and paths may be exempt")
        .hasMessageContaining(
            "limiter.overload.local.inventory.most: there is no such setting; those of a name are initial, max, max-wait, max-waiting, min, observe");
  }

  @Test
  void aNetworkThatIsNoneStopsTheStart() {
    assertThat(Starts.mistake(Map.of("limiter.overload.trusted", "10.0.0.x")))
        .hasMessageContaining("limiter.overload.trusted: 10.0.0.x: ");
  }

  @Test
  void aVariableOfSuchANameIsAWarning() {
    Map<String, Object> variables =
        Map.of(
            "LIMITER_OVERLOAD_MAX_WAITS", "1s",
            "LIMITER_OVERLOAD_MAX_WAIT", "3ms",
            "LIMITER_OVERLOAD_SERVICE_HOST", "10.0.0.1");
    try (ApplicationContext context =
        ApplicationContext.builder(Map.of())
            .propertySources(
                PropertySource.of(
                    "variables",
                    variables,
                    PropertyConvention.ENVIRONMENT_VARIABLE,
                    Origin.of("System.env")))
            .start()) {
      assertThat(context.getBean(OverloadConfiguration.class).http().maxWait())
          .isEqualTo(Duration.ofMillis(3));
    }
    assertThat(log.messages())
        .containsExactly(
            "The environment variable LIMITER_OVERLOAD_MAX_WAITS has no effect: there is no such setting; did you mean limiter.overload.max-wait?");
  }

  @Test
  void theCheckKnowsTheSettingsThatTheCompilerFound() throws IOException {
    assertThat(
            DocumentedSettings.rows().keySet().stream()
                .filter(name -> !name.contains(".local."))
                .collect(Collectors.toSet()))
        .containsExactlyInAnyOrderElementsOf(
            SettingsCheck.KNOWN.stream().map(name -> "limiter.overload." + name).toList());
  }

  @Test
  void withoutTheSwitchNoRequestIsFiltered() {
    try (ApplicationContext context = ApplicationContext.run()) {
      assertThat(context.containsBean(OverloadFilter.class)).isFalse();
    }
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of("limiter.enabled", false, "limiter.overload.enabled", true))) {
      assertThat(context.containsBean(OverloadFilter.class)).isFalse();
    }
  }

  /** The header field has whole seconds. */
  @Test
  void aTimeToRetryIsNotRoundedDown() {
    try (ApplicationContext context =
        ApplicationContext.run(Map.of("limiter.overload.retry-after", "1500ms"))) {
      OverloadLimiters limiters = context.getBean(OverloadLimiters.class);
      assertThat(Stream.generate(limiters::retryAfter).limit(100).collect(Collectors.toSet()))
          .containsExactlyInAnyOrder(Duration.ofSeconds(2), Duration.ofSeconds(3));
    }
  }

  /** All of them are read once. A refresh names what it does not change. */
  @Test
  void aRefreshNamesWhatNeedsARestart() {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of(
                "limiter.overload.enabled", true,
                "limiter.overload.local.some.max", 10,
                "limiter.overload.max", 1_000))) {
      context
          .getEnvironment()
          .addPropertySource(
              PropertySource.of(
                  "later",
                  Map.of(
                      "limiter.overload.max",
                      7,
                      "limiter.overload.local.some.max",
                      8,
                      "limiter.overload.trusted",
                      "10.0.0.1",
                      "limiter.overload.paths.critical",
                      "/login"),
                  Integer.MAX_VALUE));
      context
          .getEventPublisher(RefreshEvent.class)
          .publishEvent(new RefreshEvent(context.getEnvironment().refreshAndDiff()));

      assertThat(context.getBean(FixedSettings.class).changedSinceStart())
          .contains(
              "limiter.overload.max",
              "limiter.overload.trusted",
              "limiter.overload.paths.critical");
      assertThat(context.getBean(OverloadLimiters.class).http().settings().max()).isEqualTo(1_000);
      assertThat(context.getBean(OverloadLimiters.class).named("some").settings().max())
          .isEqualTo(10);
    }
  }
}
