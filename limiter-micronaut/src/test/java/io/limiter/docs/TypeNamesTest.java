// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * A simple name, nested or not, means one type in the published modules, and no type is named like
 * the plural of another: a reader who sees a name without its import finds one place.
 */
class TypeNamesTest {

  private static final Path ROOT = Path.of("..");

  private static final List<String> MODULES =
      List.of("limiter-core", "limiter-micronaut", "limiter-processor", "limiter-test");

  /** Each is part of the type that it builds, or of the annotation that it contains. */
  private static final Set<String> NAMED_BY_THEIR_OWNER = Set.of("Builder", "List");

  private static final Pattern COMMENT_OR_TEXT =
      Pattern.compile("/\\*.*?\\*/|//[^\n]*|\"(?:\\\\.|[^\"\\\\\n])*\"", Pattern.DOTALL);

  private static final Pattern TYPE =
      Pattern.compile("\\b(?:class|interface|enum|record)\\s+([A-Z]\\w*)");

  @Test
  void noTwoTypesHaveOneSimpleName() throws IOException {
    Map<String, List<String>> several = new TreeMap<>(types());
    several.keySet().removeAll(NAMED_BY_THEIR_OWNER);
    several.values().removeIf(files -> files.size() == 1);
    assertThat(several).isEmpty();
  }

  @Test
  void noTypeIsNamedLikeThePluralOfAnother() throws IOException {
    Set<String> names = types().keySet();
    Set<String> plurals =
        names.stream()
            .map(
                name ->
                    name.endsWith("y") ? name.substring(0, name.length() - 1) + "ies" : name + "s")
            .filter(names::contains)
            .collect(Collectors.toCollection(TreeSet::new));
    assertThat(plurals).isEmpty();
  }

  /** The files that declare a type, by its simple name. */
  private static Map<String, List<String>> types() throws IOException {
    Map<String, List<String>> types = new TreeMap<>();
    for (String module : MODULES) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/main/java"))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
          Matcher type =
              TYPE.matcher(COMMENT_OR_TEXT.matcher(Files.readString(file)).replaceAll(""));
          while (type.find()) {
            types.merge(
                type.group(1),
                List.of(file.getFileName().toString()),
                (some, more) -> Stream.concat(some.stream(), more.stream()).toList());
          }
        }
      }
    }
    return types;
  }
}
