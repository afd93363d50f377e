// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Rooms: packages, or single classes, with everything of one feature, which can be changed or
 * removed without a look at the others, since these do not know it.
 */
public final class Rooms {

  private Rooms() {}

  /**
   * Requires that no main class outside of a room knows one of its classes, except these.
   *
   * @param rooms by their packages or classes, the names of the classes that know them; each has a
   *     reason
   * @param roots the packages that are looked at
   */
  public static void requireKnownTo(Map<String, Set<String>> rooms, String... roots) {
    JavaClasses all =
        new ClassFileImporter()
            .withImportOption(new DoNotIncludeTests())
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages(roots)
            .that(not(nameMatching(".*\\.\\$.*"))); // Micronaut's
    rooms.forEach(
        (room, known) -> {
          assertThat(all.stream().filter(type -> isIn(room, type))).as("in %s", room).isNotEmpty();
          Set<String> found =
              all.stream()
                  .filter(type -> !isGenerated(type) && !isIn(room, type) && knows(type, room))
                  .map(Rooms::topLevel)
                  .collect(Collectors.toCollection(TreeSet::new));
          assertThat(found)
              .as("the classes in %s that know the room %s", Arrays.toString(roots), room)
              .isEqualTo(known);
        });
  }

  private static boolean knows(JavaClass type, String room) {
    return type.getDirectDependenciesFromSelf().stream()
        .anyMatch(dependency -> isIn(room, dependency.getTargetClass().getBaseComponentType()));
  }

  /** By Micronaut's processors, beside a class that knows as much. */
  private static boolean isGenerated(JavaClass type) {
    return type.getName().contains(".$");
  }

  private static boolean isIn(String room, JavaClass type) {
    return (type.getPackageName() + '.').startsWith(room + '.') || topLevel(type).equals(room);
  }

  private static String topLevel(JavaClass type) {
    JavaClass outer = type;
    while (outer.getEnclosingClass().isPresent()) {
      outer = outer.getEnclosingClass().get();
    }
    return outer.getName();
  }
}
