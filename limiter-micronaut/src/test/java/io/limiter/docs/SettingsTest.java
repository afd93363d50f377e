// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.testing.DocumentedSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The table of settings is what the compiler finds in the classes that bind them. */
class SettingsTest {

  private static final Path PAGE = Path.of("../docs/settings.md");

  private static final Pattern OF_MODULES =
      Pattern.compile("\\| `limiter\\.(client|idempotency|management|overload|overrides)\\.");

  private static final String HEAD =
      """
      # Settings

      Settings with a fixed name. Those of [policies, routes and tiers](configuration.md) have names that the application chooses. This
      table is written by the build: `./mvnw test -pl limiter-idempotency,limiter-client,limiter-management,limiter-overload -am -Dtest=SettingsTest -Dlimiter.settings=write
      -Dsurefire.failIfNoSpecifiedTests=false`.

      | setting | type | |
      |---|---|---|
      """;

  @Test
  void theTableIsThatOfTheSources() throws IOException {
    Map<String, String> rows = DocumentedSettings.rows();
    rows.putAll(ofModules());
    DocumentedSettings.check(
        PAGE, HEAD + rows.values().stream().map(row -> row + '\n').collect(Collectors.joining()));
  }

  @Test
  void descriptionsArePlainAndHaveDefaults() throws IOException {
    DocumentedSettings.requirePlainDescriptions();
  }

  /** The rows of optional modules, which their own tests check. */
  private static Map<String, String> ofModules() throws IOException {
    return Files.readAllLines(PAGE).stream()
        .filter(line -> OF_MODULES.matcher(line).lookingAt())
        .collect(Collectors.toMap(line -> line.split("`")[1], line -> line));
  }
}
