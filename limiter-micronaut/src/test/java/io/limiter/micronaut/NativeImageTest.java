// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.limiter.core.Limiter;
import io.limiter.micronaut.plan.PlanRegistry;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an image has to contain is listed in reachability-metadata.json. No image is built here. */
@AnalyzeClasses(
    packages = "io.limiter",
    importOptions = {DoNotIncludeTests.class, NativeImageTest.NoTestJars.class})
class NativeImageTest {

  /** Where limiter-core is a jar, so are its tests. */
  static final class NoTestJars implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("-tests.jar");
    }
  }

  private static final String METADATA =
      "META-INF/native-image/io.limiter/%s/reachability-metadata.json";

  /** What these look up is listed, or, for the last two, is of the application. */
  private static final Set<String> LOOK_UP_BY_NAME =
      Set.of(
          "io.limiter.core.redis.wire.DecisionScripts.RedisScript",
          "io.limiter.core.redis.connection.TimedCommand",
          "io.limiter.micronaut.config.ModuleSettings",
          "io.limiter.micronaut.denial.ShippedMessages",
          "io.limiter.micronaut.diagnostics.UserWarnings",
          "io.limiter.micronaut.intercept.BlockingRoutes",
          "io.limiter.micronaut.diagnostics.PolicyWarnings",
          "io.limiter.micronaut.redis.LimitStoreFactory",
          "io.limiter.micronaut.diagnostics.FilterWarnings",
          "io.limiter.micronaut.metadata.UnwovenLimits");

  private static final Set<String> LOOK_UPS =
      Set.of(
          "forName",
          "isPresent",
          "getResource",
          "getResources",
          "getResourceAsStream",
          "getBundle",
          "newUpdater",
          "newProxyInstance",
          "getDeclaredMethods",
          "getDeclaredFields",
          "getDeclaredConstructor",
          "getMethod",
          "getMethods");

  private static final Set<String> OWNERS =
      Set.of(
          "java.lang.Class",
          "java.lang.ClassLoader",
          "java.lang.reflect.Proxy",
          "java.util.ResourceBundle",
          "java.util.ServiceLoader",
          "java.util.concurrent.atomic.AtomicIntegerFieldUpdater",
          "java.util.concurrent.atomic.AtomicLongFieldUpdater",
          "java.util.concurrent.atomic.AtomicReferenceFieldUpdater",
          "io.micronaut.core.reflect.ClassUtils",
          "io.micronaut.context.env.Environment");

  @ArchTest
  static final ArchRule onlyKnownClassesLookUpByName =
      noClasses()
          .that(
              DescribedPredicate.describe(
                  "are not listed in " + NativeImageTest.class.getSimpleName(),
                  type ->
                      !LOOK_UP_BY_NAME.contains(type.getName()) && !type.getName().contains("$")))
          .should()
          .accessTargetWhere(
              DescribedPredicate.describe(
                  "a class, field or resource is looked up by name",
                  (JavaAccess<?> access) ->
                      LOOK_UPS.contains(access.getName())
                          && OWNERS.contains(access.getTargetOwner().getName())))
          .because("an image has only what reachability-metadata.json lists: add it there");

  @ParameterizedTest
  @CsvSource({"limiter-core", "limiter-micronaut"})
  void everyResourceIsListed(String module) throws IOException, URISyntaxException {
    Class<?> anchor = module.equals("limiter-core") ? Limiter.class : PlanRegistry.class;
    Path place = Path.of(anchor.getProtectionDomain().getCodeSource().getLocation().toURI());
    if (Files.isDirectory(place)) {
      check(place, module);
    } else {
      try (FileSystem jar = FileSystems.newFileSystem(place)) {
        check(jar.getPath("/"), module);
      }
    }
  }

  private static void check(Path root, String module) throws IOException {
    JsonNode metadata =
        new ObjectMapper().readTree(Files.readString(root.resolve(METADATA.formatted(module))));
    List<String> listed = new ArrayList<>();
    metadata
        .get("resources")
        .forEach(
            entry -> {
              if (entry.has("glob")) {
                listed.add(entry.get("glob").asText());
              } else {
                listed.add(entry.get("bundle").asText().replace('.', '/') + "*.properties");
              }
            });
    List<String> resources;
    try (Stream<Path> files = Files.walk(root.resolve("io"))) {
      resources =
          files
              .filter(Files::isRegularFile)
              .map(file -> root.relativize(file).toString())
              .filter(name -> !name.endsWith(".class"))
              .toList();
    }
    assertThat(resources)
        .isNotEmpty()
        .allMatch(
            name ->
                listed.stream()
                    .anyMatch(
                        glob ->
                            root.getFileSystem()
                                .getPathMatcher("glob:" + glob)
                                .matches(root.getFileSystem().getPath(name))));
    assertThat(metadata.get("reflection").findValuesAsText("type"))
        .filteredOn(type -> type.startsWith("io.limiter")) // others are optional
        .allSatisfy(type -> assertThat(Class.forName(type)).isNotNull());
  }
}
