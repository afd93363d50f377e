// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A test that the page on attacks names is there. */
class NamedTestsTest {

  private static final Path ROOT = Path.of("..");
  private static final Pattern NAMED = Pattern.compile("`(\\w+(?:Test|Contract))\\.(\\w+)`");

  @Test
  void everyAttackIsTested() throws IOException {
    String page =
        Files.readString(ROOT.resolve("docs/security.md"))
            + Files.readString(ROOT.resolve("docs/internals/attacks.md"));
    List<MatchResult> named = NAMED.matcher(page).results().toList();
    assertThat(named).isNotEmpty();
    for (MatchResult test : named) {
      Pattern declared = Pattern.compile("(?:void|ArchRule) " + test.group(2) + "\\b");
      assertThat(declared.matcher(source(test.group(1))).find()).as("%s", test.group()).isTrue();
    }
  }

  /** Of all classes of this name: empty if there is none. */
  private static String source(String type) throws IOException {
    StringBuilder text = new StringBuilder();
    for (String module :
        List.of(
            "limiter-core",
            "limiter-micronaut",
            "limiter-idempotency",
            "limiter-client",
            "limiter-management",
            "limiter-planner",
            "limiter-overload",
            "demo-app")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/test/java"))) {
        for (Path file : files.filter(path -> path.endsWith(type + ".java")).toList()) {
          text.append(Files.readString(file));
        }
      }
    }
    return text.toString();
  }
}
