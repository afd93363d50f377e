// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.limiter.core.Fallback;
import io.limiter.core.testing.RecordedLog;
import io.limiter.idempotency.IdempotencyConfiguration.RouteSettings;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.Origin;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IdempotencyConfigurationTest {

  private static final String PREFIX = IdempotencyConfiguration.PREFIX + ".";

  private static final RouteSettings USUAL =
      new RouteSettings(
          "/payments",
          Set.of("POST", "PATCH"),
          Duration.ofHours(24),
          Duration.ofSeconds(30),
          Duration.ofSeconds(2),
          true,
          false,
          Optional.empty(),
          Optional.empty());

  @AutoClose private final RecordedLog log = RecordedLog.of(SettingsCheck.class);

  @TempDir private Path directory;

  private static IdempotencyConfiguration of(Map<String, Object> settings) {
    try (ApplicationContext context = ApplicationContext.run(settings)) {
      return context.getBean(IdempotencyConfiguration.class);
    }
  }

  private IdempotencyConfiguration of(Map<String, Object> variables, String file, String text)
      throws IOException {
    Files.writeString(directory.resolve(file), text);
    try (ApplicationContext context =
        ApplicationContext.builder(Map.of())
            .overrideConfigLocations("file:" + directory)
            .propertySources(
                PropertySource.of(
                    "variables",
                    variables,
                    PropertyConvention.ENVIRONMENT_VARIABLE,
                    Origin.of("System.env")))
            .start()) {
      return context.getBean(IdempotencyConfiguration.class);
    }
  }

  private static void assertMistake(Map<String, Object> settings, String message) {
    Throwable mistake = catchThrowable(() -> of(settings));
    assertThat(mistake).as("%s", settings).isNotNull();
    Throwable cause = mistake;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    assertThat(cause).hasMessageContaining(message);
  }

  @Test
  void theDefaultsAreAsDocumented() {
    IdempotencyConfiguration usual = of(Map.of());
    assertThat(usual.fallback()).isEqualTo(Fallback.DENY);
    assertThat(usual.longestRun()).isEqualTo(Duration.ofHours(1));
    assertThat(usual.clientMethods()).containsExactlyInAnyOrder("POST", "PATCH");
    assertThat(usual.withoutHeaders()).isEmpty();
    assertThat(usual.routes()).isEmpty();
    assertThat(usual.problemType()).endsWith("-07#section-2.7");
  }

  @Test
  void settingsAreRead() {
    IdempotencyConfiguration all =
        of(
            Map.of(
                PREFIX + "fallback", "Local",
                PREFIX + "longestRun", "2m",
                PREFIX + "without-headers", "ETag, X-Trace",
                PREFIX + "client-methods", List.of("PUT"),
                PREFIX + "anonymous-by-address", "on",
                PREFIX + "max-bytes-in-redis", "5000000000"));
    assertThat(all.fallback()).isEqualTo(Fallback.LOCAL);
    assertThat(all.longestRun()).isEqualTo(Duration.ofMinutes(2));
    assertThat(all.withoutHeaders()).containsExactlyInAnyOrder("etag", "x-trace");
    assertThat(all.clientMethods()).containsExactly("PUT");
    assertThat(all.anonymousByAddress()).isTrue();
    assertThat(all.maxBytesInRedis()).isEqualTo(5_000_000_000L);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "max-body|16777217|0 to 16777216",
        "max-answer|-1|0 to 4194304",
        "max-body|big|set it to a number",
        "max-bytes|big|set it to a number",
        "max-waiting|1.5|set it to a number",
        "longest-run|soon|set it to a time, such as 500ms",
        "longest-run|59s|1 minute to 24 hours",
        "longest-run|25h|1 minute to 24 hours",
        "max-waiting|-1|0 to 1000000",
        "max-waiting-of-subject|1000001|0 to 1000000",
        "max-pending-bytes|-1|0 to 1073741824",
        "max-entries|0|1 to 1000000",
        "max-bytes|-1|0 to 68719476736",
        "max-bytes-of-subject|0|1 to 68719476736",
        "max-bytes-in-redis|-1|0 to 1099511627776",
        "without-headers|X Trace|names of header fields, such as ETag",
        "fallback|allow|set it to deny, or to local",
        "fallback|none|set it to one of ",
        "client-methods|post|names of HTTP methods in capitals, such as POST",
        "problem-type|a b|it is no URI",
        "anonymous-by-address|yess|set it to true or false",
        "max-entry|1|there is no such setting; did you mean limiter.idempotency.max-entries?",
        "replay|1|there is no such setting; those of limiter.idempotency are anonymous-by-address",
        "encryption.currnt|1|there is no such setting; did you mean limiter.idempotency.encryption.current?",
        "routes[0].claim|5s|this route has no path",
        "routes[0].paths|/a|there is no such setting. A route has path, methods",
        "routes.path|/a|there is no such setting. A route has path, methods"
      })
  void aMistakeStopsTheStart(String setting, String value, String remedy) {
    assertMistake(Map.of(PREFIX + setting, value), PREFIX + setting);
    assertMistake(Map.of(PREFIX + setting, value), remedy);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "path|payments|a path begins with a slash",
        "path|/hooks/:partner|a pattern has no variables: write /hooks/*",
        "methods|FETCH|use some of DELETE, GET, HEAD",
        "retain|500ms|use 1 s to 366 days",
        "retain|soon|it is no time: write one such as 30s, of 1 s to 366 days",
        "claim|11m|use 1 s to 10 min",
        "max-wait|31s|use 0 s to 30 s",
        "required|maybe|set it to true or false",
        "charge-repetitions|2|set it to true or false",
        "header|X Id|write the name of a header field",
        "resolver|''|write the name of a bean"
      })
  void aMistakeInARouteIsNamedWithItsPlace(String member, String value, String remedy) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(PREFIX + "routes[1].path", "/b");
    settings.put(PREFIX + "routes[1]." + member, value);
    assertMistake(settings, PREFIX + "routes[1].%s = %s".formatted(member, value));
    assertMistake(settings, remedy);
  }

  @Test
  void routesThatHideEachOtherAreRejected() {
    assertMistake(
        Map.of(
            PREFIX + "routes",
            List.of(
                Map.of("path", "/a", "methods", "PUT"),
                Map.of("path", "/a"),
                Map.of("path", "/a", "methods", "PUT,DELETE"))),
        "limiter.idempotency.routes[2].path = /a in context: a route before it has this path too, for PUT");
    assertMistake(
        Map.of(PREFIX + "routes", List.of(Map.of("path", "/a", "header", "X", "resolver", "mine"))),
        "a route has header or resolver: remove one of them");
  }

  @Test
  void routesAreReadFromFilesOfBothKinds() throws IOException {
    assertThat(
            of(
                    Map.of(),
                    "application.yml",
                    """
                    limiter:
                      idempotency:
                        routes:
                          - path: /payments
                          - path: "/orders/${part}"
                            methods: [put, DELETE]
                            retain: ""
                            claim: 5s
                            max-wait: 0s
                            required: no
                            charge-repetitions: true
                            header: X-Client
                    part: "**"
                    """)
                .routes())
        .containsExactly(
            USUAL,
            new RouteSettings(
                "/orders/**",
                Set.of("PUT", "DELETE"),
                null,
                Duration.ofSeconds(5),
                Duration.ZERO,
                false,
                true,
                Optional.of("X-Client"),
                Optional.empty()));
    Files.delete(directory.resolve("application.yml"));
    assertThat(
            of(
                    Map.of(),
                    "application.properties",
                    """
                    limiter.idempotency.routes[0].path=/payments
                    limiter.idempotency.routes[0].maxWait=2s
                    """)
                .routes())
        .containsExactly(USUAL);
  }

  @Test
  void variablesChangeAndAddMembers() throws IOException {
    assertThat(
            of(
                    Map.of(
                        "LIMITER_IDEMPOTENCY_ROUTES_0_MAX_WAIT", "2s",
                        "LIMITER_IDEMPOTENCY_ROUTES_1_PATH", "/orders",
                        "LIMITER_IDEMPOTENCY_ROUTES_1_METHODS", "PUT,DELETE",
                        "LIMITER_IDEMPOTENCY_FALLBACK", "local"),
                    "application.yml",
                    "limiter.idempotency.routes: [{path: /payments, max-wait: 9s}]")
                .routes())
        .hasSize(2)
        .first()
        .isEqualTo(USUAL);
    assertThat(log.messages()).isEmpty();
  }

  @Test
  void anUnknownVariableIsAWarning() throws IOException {
    of(
        Map.of(
            "LIMITER_IDEMPOTENCY_MAX_BODDY", "2",
            "LIMITER_IDEMPOTENCY_ROUTES_0_PATHS", "/a",
            "LIMITER_IDEMPOTENCY_ENCRYPTION_KEYS_A", "MDEyMzQ1Njc4OWFiY2RlZg=="),
        "application.yml",
        "limiter.idempotency.encryption: {current: a, keys: {a: MDEyMzQ1Njc4OWFiY2RlZg==}}");
    assertThat(log.messages())
        .containsExactlyInAnyOrder(
            "The environment variable LIMITER_IDEMPOTENCY_MAX_BODDY has no effect: there is no such setting; did you mean limiter.idempotency.max-body?",
            "The environment variable LIMITER_IDEMPOTENCY_ROUTES_0_PATHS has no effect: there is no such setting. A route has path, methods, retain, claim, max-wait, required, charge-repetitions, header, resolver");
  }

  /** Else a setting could not be used, or a mistyped one would be ignored. */
  @Test
  void theKnownSettingsAreThoseThatTheBeansBind() throws IOException {
    Set<String> bound = new TreeSet<>();
    for (JsonNode property :
        new ObjectMapper()
            .readTree(
                Path.of("target/classes/META-INF/spring-configuration-metadata.json").toFile())
            .path("properties")) {
      bound.add(property.path("name").asText().substring(PREFIX.length()));
    }
    assertThat(bound).isEqualTo(SettingsCheck.KNOWN);
  }
}
