// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.env.Environment;
import io.micronaut.core.naming.conventions.StringConvention;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The fields of the application's own error body, as written.
 *
 * <p>Micronaut binds properties under normalized names, {@code userId} as {@code user-id}. Clients
 * see these names, so the properties are read raw. Environment variables, which cannot spell names
 * exactly, are not read.
 */
@Singleton
public final class TemplateConfiguration {

  /** Prefix of the fields. */
  public static final String PREFIX = DenialConfiguration.PREFIX + ".template";

  private static final List<Object> PATH = List.of("denial", "template");
  private static final Pattern SEGMENT = Pattern.compile("(.*?)((?:\\[\\d{1,4}])*)");
  private static final Pattern INDEX = Pattern.compile("\\d+");

  private final Optional<Map<String, @Nullable Object>> fields;

  TemplateConfiguration(Environment environment) {
    TemplateTree tree = new TemplateTree();
    environment
        .getProperties(LimiterConfiguration.PREFIX, StringConvention.RAW)
        .forEach((name, value) -> collect(steps(name), value, tree));
    this.fields = tree.fields();
  }

  /**
   * The fields in the order in which they were written, if the source preserves it: texts, numbers,
   * booleans, null, lists and maps. Empty if there is no template.
   */
  public Optional<Map<String, @Nullable Object>> fields() {
    return fields;
  }

  /** A file has a property for each leaf; a map from code may contain maps. */
  private static void collect(List<Object> path, @Nullable Object value, TemplateTree tree) {
    if (value instanceof Map<?, ?> map && !map.isEmpty()) {
      map.forEach(
          (name, inner) -> {
            List<Object> longer = new ArrayList<>(path);
            longer.add(String.valueOf(name));
            collect(longer, inner, tree);
          });
    } else if (path.size() >= PATH.size() && path.subList(0, PATH.size()).equals(PATH)) {
      tree.put(path.subList(PATH.size(), path.size()), value);
    }
  }

  /** Splits a property: {@code a.b[0].c} has the names a, b, c and the index 0. */
  private static List<Object> steps(String property) {
    List<Object> steps = new ArrayList<>();
    for (String part : property.split("\\.", -1)) {
      Matcher segment = SEGMENT.matcher(part);
      if (segment.matches()) {
        steps.add(segment.group(1));
        Matcher index = INDEX.matcher(segment.group(2));
        while (index.find()) {
          steps.add(Integer.valueOf(index.group()));
        }
      }
    }
    return steps;
  }
}
