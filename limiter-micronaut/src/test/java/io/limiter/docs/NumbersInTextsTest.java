// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Numbers in texts have the same digits in all languages. A format such as {@code %d} writes those
 * of the JVM's default locale, in a script for Redis and in the name of a setting, too; {@code %s}
 * does not.
 */
class NumbersInTextsTest {

  private static final List<String> MODULES =
      List.of("limiter-core", "limiter-micronaut", "limiter-processor", "limiter-test", "demo-app");

  private static final Pattern OF_THE_LOCALE = Pattern.compile("%[-+, 0-9.$]*[dfgxX](?![a-z])");

  /** So that the tests of the profile "elsewhere" see digits that are not ASCII. */
  @Test
  void arabicHasDigitsOfItsOwn() {
    assertThat(String.format(Locale.forLanguageTag("ar-EG"), "%d", 12)).isEqualTo("\u0661\u0662");
  }

  @Test
  void noFormatDependsOnTheDefaultLocale() throws IOException {
    List<String> found = new ArrayList<>();
    int files = 0;
    for (String module : MODULES) {
      try (Stream<Path> all = Files.walk(Path.of("..", module, "src", "main"))) {
        for (Path file : all.filter(path -> path.toString().endsWith(".java")).toList()) {
          files++;
          Files.readString(file)
              .lines()
              .filter(line -> OF_THE_LOCALE.matcher(line).find())
              .forEach(line -> found.add(file + ": " + line.strip()));
        }
      }
    }
    assertThat(files).isGreaterThan(200);
    assertThat(found).isEmpty();
  }
}
