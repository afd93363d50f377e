// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

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

/** The settings that the compiler finds in the classes of the module whose tests run. */
public final class DocumentedSettings {

  private static final Path METADATA =
      Path.of("target/classes/META-INF/spring-configuration-metadata.json");

  private static final Pattern CODE = Pattern.compile("`([^`]*)`");

  private DocumentedSettings() {}

  /** The page is written with -Dlimiter.settings=write, and compared in any case. */
  public static void check(Path file, String page) throws IOException {
    if (System.getProperty("limiter.settings", "").equals("write")) {
      Files.writeString(file, page);
    }
    assertThat(file).hasContent(page);
  }

  /** Like {@link #check}, where the rows of this module are some of those of the page. */
  public static void checkRows(Path file) throws IOException {
    Map<String, String> own = rows();
    Map<String, String> rows = new TreeMap<>(own);
    List<String> lines = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      if (!line.startsWith("| `")) {
        lines.add(line);
      } else if (own.keySet().stream().noneMatch(name -> line.startsWith("| `" + group(name)))) {
        rows.put(line.split("`")[1], line);
      }
    }
    lines.addAll(rows.values());
    check(file, String.join("\n", lines) + '\n');
  }

  /** A module has whole groups, such as {@code limiter.redis.}. */
  private static String group(String name) {
    return name.substring(0, name.indexOf('.', name.indexOf('.') + 1) + 1);
  }

  /** What an editor shows. */
  public static void requirePlainDescriptions() throws IOException {
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

  /** Rows of a table by the names of settings, without the ends of lines. */
  public static Map<String, String> rows() throws IOException {
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
