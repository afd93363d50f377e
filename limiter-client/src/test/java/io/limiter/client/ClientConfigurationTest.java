// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.testing.DocumentedSettings;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.Origin;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClientConfigurationTest {

  private static final String THERE_ARE =
      ": there is no such setting; those of limiter.client are jitter, max-retry-after, max-servers, max-wait, max-waiters";

  @AutoClose private final RecordedLog log = RecordedLog.of(SettingsCheck.class);

  @TempDir private Path directory;

  @Test
  void theDefaultsAreAsDocumented() {
    assertThat(of(Map.of()))
        .isEqualTo(
            new ClientConfiguration(Duration.ofSeconds(2), 100, Duration.ofMinutes(5), 0.5, 1_000));
  }

  @Test
  void settingsAreRead() {
    assertThat(
            of(
                Map.of(
                    "limiter",
                    Map.of("client", Map.of("max-wait", "3s", "max-waiters", 7)),
                    "limiter.client.maxRetryAfter",
                    "1h",
                    "limiter.client.jitter",
                    0,
                    "limiter.client.max-servers",
                    9)))
        .isEqualTo(new ClientConfiguration(Duration.ofSeconds(3), 7, Duration.ofHours(1), 0, 9));
  }

  private static ClientConfiguration of(Map<String, Object> settings) {
    try (ApplicationContext context = ApplicationContext.run(settings)) {
      return context.getBean(ClientConfiguration.class);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "max-wait|soon|limiter.client.max-wait = soon: set it to a time, such as 500ms",
        "max-waiters|many|limiter.client.max-waiters = many: set it to a number",
        "jitter|half|limiter.client.jitter = half: set it to a number",
        "max-wait|6m|limiter.client.max-wait = 360000 ms: set it to 0 ms to 300000 ms",
        "max-waiters|-1|limiter.client.max-waiters = -1: set it to 0 to 100000",
        "max-retry-after|0s|limiter.client.max-retry-after = 0 ms: set it to 1000 ms to 86400000 ms",
        "jitter|1.5|limiter.client.jitter = 1.5: set it to 0 to 1",
        "max-servers|0|limiter.client.max-servers = 0: set it to 1 to 100000"
      })
  void aMistakeStopsTheStart(String name, String value, String message) {
    assertThat(Starts.mistake(Map.of("limiter.client." + name, value))).hasMessage(message);
  }

  @Test
  void aNameThatNoSettingHasStopsTheStart() {
    assertThat(
            Starts.mistake(
                Map.of(
                    "limiter.client.max-waits", "1s",
                    "limiter", Map.of("client", Map.of("max.wait", "1s")),
                    "limiter.client[0].jitter", "0")))
        .hasMessageContaining("limiter.client.max-waits" + THERE_ARE)
        .hasMessageContaining("limiter.client.max.wait" + THERE_ARE)
        .hasMessageContaining("limiter.client[0].jitter" + THERE_ARE);
    assertThat(Starts.mistake(Map.of("limiter.client", "on")))
        .hasMessageContaining("limiter.client" + THERE_ARE);
    assertThat(of(Map.of("limiters.client.x", 1, "limiter.client", Map.of())))
        .isEqualTo(of(Map.of()));
  }

  @Test
  void aNameInAFileIsStatedWithTheFile() throws IOException {

    Files.writeString(directory.resolve("application.yml"), "limiter.client: {max-waits: 1s}");
    assertThat(
            catchThrowable(
                () ->
                    ApplicationContext.builder(Map.of("spec.name", "none"))
                        .overrideConfigLocations("file:" + directory)
                        .start()
                        .close()))
        .rootCause()
        .hasMessage("limiter.client.max-waits in application.yml" + THERE_ARE);
  }

  /** The first may be meant for something else; Kubernetes sets the last two. */
  @Test
  void aVariableOfSuchANameIsAWarning() {
    Map<String, Object> variables =
        Map.of(
            "LIMITER_CLIENT_MAX_WAITS", "1s",
            "LIMITER_CLIENT_MAX_WAIT", "3s",
            "LIMITER_CLIENT_SERVICE_HOST", "10.0.0.1",
            "LIMITER_CLIENT_PORT_8080_TCP_ADDR", "10.0.0.1");
    try (ApplicationContext context =
        ApplicationContext.builder(Map.of())
            .propertySources(
                PropertySource.of(
                    "variables",
                    variables,
                    PropertyConvention.ENVIRONMENT_VARIABLE,
                    Origin.of("System.env")))
            .start()) {
      assertThat(context.getBean(ClientConfiguration.class).maxWait())
          .isEqualTo(Duration.ofSeconds(3));
    }
    assertThat(log.messages())
        .containsExactly(
            "The environment variable LIMITER_CLIENT_MAX_WAITS has no effect" + THERE_ARE);
  }

  @Test
  void aSystemPropertyOfSuchANameIsAWarning() {
    System.setProperty("limiter.client.max-waits", "1s");
    try {
      of(Map.of());
    } finally {
      System.clearProperty("limiter.client.max-waits");
    }
    assertThat(log.messages())
        .containsExactly("The system property limiter.client.max-waits has no effect" + THERE_ARE);
  }

  @Test
  void theCheckKnowsTheSettingsThatTheCompilerFound() throws IOException {
    assertThat(DocumentedSettings.rows().keySet())
        .containsExactlyElementsOf(
            SettingsCheck.KNOWN.stream().map(name -> "limiter.client." + name).toList());
  }

  @Test
  void theLimiterSwitchedOffHasNoSuchClients() {
    try (ApplicationContext context = ApplicationContext.run(Map.of("limiter.enabled", false))) {
      assertThat(context.containsBean(ServerLimitsFilter.class)).isFalse();
    }
  }
}
