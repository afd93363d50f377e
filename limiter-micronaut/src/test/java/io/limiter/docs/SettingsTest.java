// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The table of settings is what the compiler finds in the classes that bind them. */
class SettingsTest {

  private static final Path PAGE = Path.of("../docs/settings.md");

  private static final String HEAD =
      """
      # Settings

      Settings with a fixed name. Those of [policies, routes and tiers](configuration.md) have names that the application chooses. This
      table is written by the build: `./mvnw test -pl limiter-idempotency -am -Dtest=SettingsTest -Dlimiter.settings=write
      -Dsurefire.failIfNoSpecifiedTests=false`.

      | setting | type | |
      |---|---|---|
      """;

  private static final Path METADATA =
      Path.of("target/classes/META-INF/spring-configuration-metadata.json");

  private static final Pattern CODE = Pattern.compile("`([^`]*)`");

  @Test
  void theTableIsThatOfTheSources() throws IOException {
    Map<String, String> rows = rows();
    rows.putAll(ofModules());
    String page = HEAD + String.join("", rows.values());
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
            "| `%s` | %s | %s |%n"
                .formatted(
                    name,
                    type.substring(type.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT),
                    text(property.path("description").asText())));
      }
    }
    return rows;
  }

  /** The rows of optional modules, which their own tests check. */
  private static Map<String, String> ofModules() throws IOException {
    return Files.readAllLines(PAGE).stream()
        .filter(line -> line.startsWith("| `limiter.idempotency."))
        .collect(Collectors.toMap(line -> line.split("`")[1], line -> line + '\n'));
  }

  private static String text(String javadoc) {
    String line = javadoc.replaceAll("\\s+", " ").strip();
    return CODE.matcher(line)
        .replaceAll(
            code -> Matcher.quoteReplacement('`' + code.group(1).replace("|", "\\|") + '`'));
  }
}
