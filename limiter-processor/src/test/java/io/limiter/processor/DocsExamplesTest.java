// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** No example of the documentation is a mistake. The demo is compiled with the processor, too. */
@Tag("matrix")
class DocsExamplesTest {

  private static final Path EXAMPLES =
      Path.of("../limiter-micronaut/src/test/java/io/limiter/docs");

  /** What tests the pages, and examples for parts of Micronaut that this module does not have. */
  private static final Pattern OTHERS =
      Pattern.compile(
          "import (static )?(org\\.junit|org\\.assertj|io\\.micronaut\\.(security|management|runtime\\.server)|io\\.limiter\\.micronaut\\.testing)|DocsServer");

  @TempDir private Path output;

  @Test
  void theyCompileWithoutAnError() throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.list(EXAMPLES)) {
      files = all.filter(DocsExamplesTest::isExample).sorted().toList();
    }
    assertThat(files).hasSizeGreaterThan(30);
    assertThat(Compilation.ofFiles(output, files).errors()).isEmpty();
  }

  private static boolean isExample(Path file) {
    try {
      return file.toString().endsWith(".java") && !OTHERS.matcher(Files.readString(file)).find();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
