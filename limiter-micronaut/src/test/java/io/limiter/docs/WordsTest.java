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
 * The sources of all modules, their tests, the build and the documentation avoid the words that the
 * project's glossary rules out.
 */
class WordsTest {

  private static final Path ROOT = Path.of("..");

  private static final List<String> MODULES =
      List.of(
          "limiter-core",
          "limiter-micronaut",
          "limiter-processor",
          "limiter-test",
          "demo-app",
          "benchmarks",
          "examples");

  /** It lists the words. */
  private static final Path THIS = Path.of("WordsTest.java");

  private static final Set<String> KINDS =
      Set.of("java", "kt", "lua", "properties", "yml", "html", "js", "css");

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
      Map.of("BodyPublishers.noBody()", "a method of the JDK's HTTP client");

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
    files.add(ROOT.resolve("pom.xml"));
    try (Stream<Path> ci = Files.list(ROOT.resolve(".ci"))) {
      ci.sorted().forEach(files::add);
    }
    for (String module : MODULES) {
      files.add(ROOT.resolve(module).resolve("pom.xml"));
      try (Stream<Path> sources = Files.walk(ROOT.resolve(module))) {
        sources.filter(WordsTest::isRead).sorted().forEach(files::add);
      }
    }
    return files;
  }

  private static boolean isRead(Path file) {
    String name = file.getFileName().toString();
    return Files.isRegularFile(file)
        && file.toString().contains("/src/")
        && !file.endsWith(THIS)
        && KINDS.contains(name.substring(name.lastIndexOf('.') + 1));
  }
}
