// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.micronaut.testing.DocumentedSettings;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The rows of this module in the table of settings are what the compiler finds in its classes. */
class SettingsTest {

  @Test
  void theRowsAreThoseOfTheSources() throws IOException {
    DocumentedSettings.checkRows(Path.of("../docs/settings.md"));
  }

  @Test
  void descriptionsArePlainAndHaveDefaults() throws IOException {
    DocumentedSettings.requirePlainDescriptions();
  }
}
