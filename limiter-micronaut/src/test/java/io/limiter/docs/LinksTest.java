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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the pages link to is there: pages, their headings, pictures, sources. */
class LinksTest {

  private static final Pattern LINK =
      Pattern.compile("]\\((?!https?:)([^)#\\s]*)(?:#([^)\\s]+))?\\)");

  private static final Pattern IMAGE = Pattern.compile("src(?:set)?=\"([^\"]+)\"");

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

  /** As GitHub makes them of headings. */
  private static List<String> anchors(Path page) throws IOException {
    return Files.readAllLines(page).stream()
        .filter(line -> line.startsWith("#"))
        .map(line -> line.replaceFirst("#+ ", "").toLowerCase(Locale.ROOT))
        .map(heading -> heading.replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-'))
        .toList();
  }
}
