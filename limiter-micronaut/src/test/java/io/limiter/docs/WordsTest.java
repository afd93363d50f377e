// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The main sources, the tests of this module and the documentation avoid the words that the
 * project's glossary rules out.
 */
class WordsTest {

  private static final Path ROOT = Path.of("..");

  private static final List<String> MODULES =
      List.of("limiter-core", "limiter-micronaut", "limiter-test", "demo-app", "benchmarks");

  /** Relative to this module, whose tests Maven runs here. */
  private static final Path TESTS = Path.of("src/test");

  /** It lists the words. */
  private static final Path THIS = Path.of("WordsTest.java");

  private static final Set<String> KINDS = Set.of("java", "lua", "properties", "yml");

  /** Two words may stand on two lines of a comment. */
  private static final Pattern BANNED =
      Pattern.compile(
          "\\b(whom|whoever|nobody|tells|told|said|becomes[\\s*/#-]+of|became[\\s*/#-]+of|anew|he|his|him)\\b",
          Pattern.CASE_INSENSITIVE);

  /** Within a name such as {@code whatAClientIsTold}. */
  private static final Pattern HUMP =
      Pattern.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])");

  /** Text that may contain a banned word, with the reason. */
  private static final Map<String, String> ALLOWED =
      Map.of(
          "BodyPublishers.noBody()", "a method of the JDK's HTTP client",
          "Map.of(\"name\", \"nobody\")", "the body of a response of the demo");

  @Test
  void noBannedWordInSourcesAndDocumentation() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path file : files()) {
      String text = words(withoutAllowed(Files.readString(file)));
      Matcher banned = BANNED.matcher(text);
      while (banned.find()) {
        long line = 1 + text.chars().limit(banned.start()).filter(c -> c == '\n').count();
        found.add("%s:%d: %s".formatted(file, line, banned.group()));
      }
    }
    assertThat(found).isEmpty();
  }

  private static String words(String text) {
    return HUMP.matcher(text).replaceAll(" ");
  }

  private static String withoutAllowed(String text) {
    String rest = text;
    for (String allowed : ALLOWED.keySet()) {
      rest = rest.replace(allowed, "");
    }
    return rest;
  }

  private static List<Path> files() throws IOException {
    List<Path> files = new ArrayList<>(DocsIT.pages());
    for (String module : MODULES) {
      addSources(ROOT.resolve(module).resolve("src/main"), files);
    }
    addSources(TESTS, files);
    return files;
  }

  private static void addSources(Path folder, List<Path> files) throws IOException {
    try (Stream<Path> sources = Files.walk(folder)) {
      sources.filter(WordsTest::isRead).sorted().forEach(files::add);
    }
  }

  private static boolean isRead(Path file) {
    String name = file.getFileName().toString();
    return Files.isRegularFile(file)
        && !file.endsWith(THIS)
        && KINDS.contains(name.substring(name.lastIndexOf('.') + 1));
  }
}
