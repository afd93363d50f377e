// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The rows of this module in the table of settings are what the compiler finds in its classes. */
class SettingsTest {

  private static final Path PAGE = Path.of("../docs/settings.md");

  private static final String PREFIX = "| `limiter.idempotency.";

  private static final Path METADATA =
      Path.of("target/classes/META-INF/spring-configuration-metadata.json");

  private static final Pattern CODE = Pattern.compile("`([^`]*)`");

  @Test
  void theRowsAreThoseOfTheSources() throws IOException {
    List<String> lines = new ArrayList<>(Files.readAllLines(PAGE));
    lines.removeIf(line -> line.startsWith(PREFIX));
    int first = 0;
    while (!lines.get(first).startsWith("| `") || lines.get(first).compareTo(PREFIX) < 0) {
      first++;
    }
    lines.addAll(first, rows().values());
    String page = String.join("\n", lines) + '\n';
    if (System.getProperty("limiter.settings", "").equals("write")) {
      Files.writeString(PAGE, page);
    }
    assertThat(PAGE).hasContent(page);
  }

  /** What an editor shows. */
  @Test
  void descriptionsArePlainAndHaveDefaults() throws IOException {
    try (InputStream json = Files.newInputStream(METADATA)) {
      assertThat(new ObjectMapper().readTree(json).path("properties"))
          .isNotEmpty()
          .allSatisfy(
              property -> {
                String description = property.path("description").asText();
                assertThat(description).isNotBlank().doesNotContain("{@", "\n", "</", "<p>");
                assertThat(property.has("defaultValue"))
                    .as(description)
                    .isEqualTo(description.matches(".*Default (?!none|value none).*"));
              });
    }
  }

  private static Map<String, String> rows() throws IOException {
    Map<String, String> rows = new TreeMap<>();
    try (InputStream json = Files.newInputStream(METADATA)) {
      for (JsonNode property : new ObjectMapper().readTree(json).path("properties")) {
        String name = property.path("name").asText();
        String type = property.path("type").asText();
        rows.put(
            name,
            "| `%s` | %s | %s |"
                .formatted(
                    name,
                    type.substring(type.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT),
                    text(property.path("description").asText())));
      }
    }
    return rows;
  }

  private static String text(String javadoc) {
    String line = javadoc.replaceAll("\\s+", " ").strip();
    return CODE.matcher(line)
        .replaceAll(
            code -> Matcher.quoteReplacement('`' + code.group(1).replace("|", "\\|") + '`'));
  }
}
