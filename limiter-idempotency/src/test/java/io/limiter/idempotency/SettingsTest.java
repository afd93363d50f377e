// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.micronaut.testing.DocumentedSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The rows of this module in the table of settings are what the compiler finds in its classes. */
class SettingsTest {

  private static final Path PAGE = Path.of("../docs/settings.md");

  private static final String PREFIX = "| `limiter.idempotency.";

  @Test
  void theRowsAreThoseOfTheSources() throws IOException {
    List<String> lines = new ArrayList<>(Files.readAllLines(PAGE));
    lines.removeIf(line -> line.startsWith(PREFIX));
    int first = 0;
    while (!lines.get(first).startsWith("| `") || lines.get(first).compareTo(PREFIX) < 0) {
      first++;
    }
    lines.addAll(first, DocumentedSettings.rows().values());
    DocumentedSettings.check(PAGE, String.join("\n", lines) + '\n');
  }

  @Test
  void descriptionsArePlainAndHaveDefaults() throws IOException {
    DocumentedSettings.requirePlainDescriptions();
  }
}
