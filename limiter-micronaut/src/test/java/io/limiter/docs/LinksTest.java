// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the pages link to is there: pages, their headings, pictures, sources. */
class LinksTest {

  private static final Pattern LINK =
      Pattern.compile("]\\((?!https?:)([^)#\\s]*)(?:#([^)\\s]+))?\\)");

  private static final Pattern IMAGE = Pattern.compile("src(?:set)?=\"([^\"]+)\"");

  private static final Pattern OPERATED =
      Pattern.compile("^operator (\\S+) '(.+)'$", Pattern.MULTILINE);

  @Test
  void everyLinkLeadsSomewhere() throws IOException {
    List<String> broken = new ArrayList<>();
    for (Path page : DocsIT.pages()) {
      Matcher link = LINK.matcher(Files.readString(page));
      while (link.find()) {
        Path target = link.group(1).isEmpty() ? page : page.resolveSibling(link.group(1));
        if (!Files.exists(target)
            || (link.group(2) != null && !anchors(target).contains(link.group(2)))) {
          broken.add(page.normalize() + ": " + link.group());
        }
      }
    }
    assertThat(broken).isEmpty();
  }

  /** Those taken of the demo's page, in light and dark. */
  @Test
  void everyImageIsShownAndThere() throws IOException {
    Set<Path> shown = new TreeSet<>();
    for (Path page : DocsIT.pages()) {
      IMAGE
          .matcher(Files.readString(page))
          .results()
          .map(image -> page.resolveSibling(image.group(1)).normalize())
          .forEach(shown::add);
    }
    try (Stream<Path> files = Files.list(Path.of("..", "docs", "images"))) {
      assertThat(shown).containsExactlyInAnyOrderElementsOf(files.map(Path::normalize).toList());
    }
  }

  /** Line by line, but for the indentation; of an operator's commands what they send. */
  @Test
  void theServiceIsShownAsItIs() throws IOException {
    List<List<String>> files = new ArrayList<>();
    for (String part : List.of("pom.xml", "src")) {
      try (Stream<Path> paths = Files.walk(DocsIT.SERVICE.resolve(part))) {
        for (Path file : paths.filter(Files::isRegularFile).toList()) {
          files.add(Files.readAllLines(file));
        }
      }
    }
    List<String> other = new ArrayList<>();
    for (Snippet snippet : Snippet.of(Path.of("..", "docs", "service.md"))) {
      boolean shown =
          switch (snippet.language()) {
            case "java", "yaml", "xml" ->
                files.stream().anyMatch(file -> has(file, snippet.text()));
            case "shell" ->
                OPERATED
                    .matcher(snippet.text())
                    .results()
                    .allMatch(call -> files.stream().anyMatch(file -> sends(file, call)));
            default -> true;
          };
      if (!shown) {
        other.add(snippet.where());
      }
    }
    assertThat(other).isEmpty();
  }

  private static boolean has(List<String> file, String block) {
    int lines = (int) block.lines().count();
    String text = block.stripTrailing().stripIndent().strip();
    return IntStream.rangeClosed(0, file.size() - lines)
        .mapToObj(i -> String.join("\n", file.subList(i, i + lines)).stripIndent().strip())
        .anyMatch(text::equals);
  }

  private static boolean sends(List<String> file, MatchResult call) {
    String sent =
        "operator(\"%s\", \"%s\");".formatted(call.group(1), call.group(2).replace('"', '\''));
    return String.join("", file).replaceAll("\\s", "").contains(sent.replaceAll("\\s", ""));
  }

  /** As GitHub makes them of headings. */
  private static List<String> anchors(Path page) throws IOException {
    return Files.readAllLines(page).stream()
        .filter(line -> line.startsWith("#"))
        .map(line -> line.replaceFirst("#+ ", "").toLowerCase(Locale.ROOT))
        .map(heading -> heading.replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-'))
        .toList();
  }
}
