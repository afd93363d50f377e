// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.core.version.SemanticVersion;
import io.micronaut.core.version.VersionUtils;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The example for Gradle, which is not run here, names what the same example for Maven names, which
 * is. All examples, the quick start and the texts name the versions of Micronaut of the build.
 */
class GradleExampleTest {

  private static final Path EXAMPLES = Path.of("..", "examples");

  /** The plugin of Micronaut adds these. */
  private static final Set<String> OF_THE_PLUGIN =
      Set.of(
          "io.micronaut.test:micronaut-test-junit5",
          "org.junit.jupiter:junit-jupiter-api",
          "org.junit.jupiter:junit-jupiter-engine");

  private static final Pattern DEPENDENCY =
      Pattern.compile("(?:implementation|runtimeOnly|testImplementation)\\(\"([^:]+:[^:\"]+)");

  private static final Pattern MAVEN =
      Pattern.compile(
          "<dependency>\\s*<groupId>([^<]+)</groupId>\\s*<artifactId>([^<]+)</artifactId>");

  private final String gradle = read("gradle/build.gradle.kts");
  private final String maven = read("java-serde/pom.xml");

  @Test
  void itHasTheDependenciesOfTheExampleForMaven() {
    Set<String> expected =
        MAVEN
            .matcher(maven)
            .results()
            .map(found -> found.group(1) + ":" + found.group(2))
            .filter(name -> !OF_THE_PLUGIN.contains(name) && !name.endsWith("limiter-bom"))
            .collect(Collectors.toCollection(TreeSet::new));
    Set<String> named =
        DEPENDENCY
            .matcher(gradle)
            .results()
            .map(found -> found.group(1))
            .filter(name -> !name.equals("io.limiter:limiter-test")) // for tests of limits
            .collect(Collectors.toCollection(TreeSet::new));

    assertThat(named).isEqualTo(expected);
  }

  @Test
  void itHasTheVersionsOfTheExampleForMaven() {
    for (String version :
        List.of(
            "val limiter = \"" + one(maven, "<limiter.version>([^<]+)<") + "\"",
            "version(\"" + one(maven, "micronaut-parent</artifactId>\\s*<version>([^<]+)<") + "\")",
            "mainClass = \"" + one(maven, "<exec.mainClass>([^<]+)<") + "\"",
            "JavaVersion.VERSION_" + one(maven, "<jdk.version>([^<]+)<"),
            "embedded-redis:" + one(maven, "embedded-redis</artifactId>\\s*<version>([^<]+)<"))) {
      assertThat(gradle).contains(version);
    }
  }

  @Test
  void itsSourcesAreThere() {
    assertThat(Pattern.compile("srcDir\\(\"([^\"]+)\"\\)").matcher(gradle).results())
        .hasSize(3)
        .allSatisfy(
            directory ->
                assertThat(EXAMPLES.resolve("gradle").resolve(directory.group(1))).exists());
  }

  @Test
  void theVersionsOfMicronautAreThoseOfTheBuild() throws IOException {
    String platform = one(read("../pom.xml"), "<micronaut.platform.version>([^<]+)<");
    String core = one(maven, "<micronaut.core.version>([^<]+)<");
    String parent = one(maven, "micronaut-parent</artifactId>\\s*<version>([^<]+)<");

    assertThat(read("../README.md")).contains("built with platform " + platform + ",");
    assertThat(read("../docs/adoption.md"))
        .contains("platform " + platform + ", whose Micronaut core is " + core + ".")
        .contains("`micronaut-parent` " + parent);
    assertThat(SemanticVersion.isAtLeast(VersionUtils.getMicronautVersion(), core)).isTrue();
    try (Stream<Path> examples = Files.list(EXAMPLES)) {
      assertThat(
              Stream.concat(
                  Stream.of(EXAMPLES.resolve("../docs/quick-start.md")),
                  examples
                      .filter(example -> !example.endsWith("micronaut5"))
                      .map(example -> example.resolve("pom.xml"))
                      .filter(Files::exists)))
          .hasSizeGreaterThan(10)
          .allSatisfy(
              file ->
                  assertThat(Files.readString(file))
                      .containsPattern("micronaut-parent</artifactId>\\s*<version>" + parent + "<")
                      .contains("<micronaut.core.version>" + core + "<"));
    }
  }

  private static String one(String text, String pattern) {
    return Pattern.compile(pattern).matcher(text).results().findFirst().orElseThrow().group(1);
  }

  private static String read(String file) {
    try {
      return Files.readString(EXAMPLES.resolve(file));
    } catch (IOException missing) {
      throw new AssertionError(missing);
    }
  }
}
