// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The modules that a service without it has do not know of this one. */
class RoomsTest {

  private static final Path HERE = Path.of("..").toAbsolutePath().normalize();

  /** Uses, of the package or a class of it; a text may name it. */
  private static final Pattern USE =
      Pattern.compile(
          "^import (static )?io\\.limiter\\.(disabled\\.)?management\\b.*", Pattern.MULTILINE);

  @Test
  void noMainSourceOfAnotherModuleImportsThisOne() throws IOException {
    List<Path> modules =
        Stream.of(
                "limiter-core",
                "limiter-micronaut",
                "limiter-idempotency",
                "limiter-processor",
                "limiter-test")
            .map(module -> HERE.resolve(module).resolve("src/main/java"))
            .toList();
    int read = 0;
    for (Path module : modules) {
      try (Stream<Path> files = Files.walk(module)) {
        for (Path file : files.filter(some -> some.toString().endsWith(".java")).toList()) {
          assertThat(Files.readString(file)).as("%s", file).doesNotContainPattern(USE);
          read++;
        }
      }
    }
    assertThat(read).isGreaterThan(300);
  }
}
