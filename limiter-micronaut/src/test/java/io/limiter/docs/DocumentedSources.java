// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The compiled sources that the pages show, and the part of them that a snippet must be. */
final class DocumentedSources {

  private static final Pattern LINE_COMMENT = Pattern.compile("(?m)^\\s*//.*$|\\s//.*$");

  private final List<String> files;

  /**
   * @param places files, or directories of them
   */
  DocumentedSources(Path... places) {
    files =
        Arrays.stream(places)
            .flatMap(DocumentedSources::files)
            .map(DocumentedSources::read)
            .map(DocumentedSources::bare)
            .toList();
  }

  private static Stream<Path> files(Path place) {
    try (Stream<Path> paths = Files.walk(place)) {
      return paths.filter(path -> path.toString().endsWith(".java")).toList().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Whether some file has this snippet, however it is laid out; an ellipsis stands for anything,
   * and an import of all types of a package for some of them.
   */
  boolean have(String snippet) {
    String pattern =
        Arrays.stream(bare(snippet).replace(".*;", ".…").split("…", -1))
            .map(Pattern::quote)
            .reduce((one, other) -> one + ".*?" + other)
            .orElseThrow();
    Pattern compiled = Pattern.compile(pattern);
    return files.stream().anyMatch(file -> compiled.matcher(file).find());
  }

  private static String bare(String source) {
    return LINE_COMMENT.matcher(source).replaceAll("").replaceAll("\\s+", "");
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
