// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.env.Environment;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.naming.conventions.StringConvention;
import io.micronaut.core.value.PropertyResolver;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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

  /** Between two names, and before the indexes at the end of one. */
  private static final Pattern BETWEEN_STEPS =
      Pattern.compile("\\.|(?=(?:\\[\\d{1,4}])+(?:\\.|$))");

  private final Optional<Map<String, @Nullable Object>> fields;

  @Inject
  TemplateConfiguration(Environment environment) {
    this((PropertyResolver) environment);
  }

  TemplateConfiguration(PropertyResolver settings) {
    TemplateTree tree = new TemplateTree();
    Map<String, Object> all =
        settings.getProperties(LimiterConfiguration.PREFIX, StringConvention.RAW);
    Set<String> lists = new HashSet<>();
    all.keySet().stream()
        .filter(name -> name.startsWith("denial")) // thousands may be those of policies
        .forEach(name -> addLists(name, lists));
    all.forEach(
        (name, value) -> {
          // Micronaut 5 also has the list that properties with an index are the items of.
          if (name.startsWith("denial") && !(value instanceof List && lists.contains(name))) {
            collect(steps(name), value, tree);
          }
        });
    this.fields = tree.fields();
  }

  /**
   * The fields in the order in which they were written, if the source preserves it: texts, numbers,
   * booleans, null, lists and maps. Empty if there is no template.
   */
  public Optional<Map<String, @Nullable Object>> fields() {
    return fields;
  }

  /** Adds the lists that a property sets an item of: of {@code a.b[0].c} the list a.b. */
  private static void addLists(String property, Set<String> lists) {
    for (int i = property.indexOf('['); i >= 0; i = property.indexOf('[', i + 1)) {
      lists.add(property.substring(0, i));
    }
  }

  /** A file has a property for each leaf; a map from code may contain maps. */
  private static void collect(List<Object> path, @Nullable Object value, TemplateTree tree) {
    if (value instanceof Map<?, ?> map && !map.isEmpty()) {
      map.forEach(
          (name, inner) -> collect(TemplateTree.append(path, String.valueOf(name)), inner, tree));
    } else if (path.size() >= PATH.size() && path.subList(0, PATH.size()).equals(PATH)) {
      tree.put(path.subList(PATH.size(), path.size()), value);
    }
  }

  /** Splits a property: {@code a.b[0].c} has the names a, b, c and the index 0. */
  private static List<Object> steps(String property) {
    return Arrays.stream(BETWEEN_STEPS.split(property, -1))
        .<Object>map(
            step ->
                step.matches("\\[\\d+]")
                    ? Integer.valueOf(step.substring(1, step.length() - 1))
                    : step)
        .toList();
  }

  /** Assembles the properties of a template: groups by name, lists by index. */
  static final class TemplateTree {

    private final Group root = new Group();
    private boolean written;

    /** Fields by name, or items by index. */
    private static final class Group {
      private final Map<Object, @Nullable Object> parts = new LinkedHashMap<>();
    }

    /**
     * @param steps the names and indexes of the path to the value; none for the template itself
     */
    void put(List<Object> steps, @Nullable Object value) {
      written = true;
      if (steps.isEmpty()) {
        if (value != null && !(value instanceof Map<?, ?>)) {
          throw mistake(steps, value, "it is not a group of fields: name each field of the body");
        }
        return;
      }
      Group group = root;
      for (int i = 0; i < steps.size() - 1; i++) {
        Object next = group.parts.computeIfAbsent(steps.get(i), step -> new Group());
        if (!(next instanceof Group inner)) {
          throw bothValueAndGroup(steps.subList(0, i + 1), next);
        }
        group = inner;
      }
      Object last = steps.get(steps.size() - 1);
      if (group.parts.get(last) instanceof Group) {
        throw bothValueAndGroup(steps, value);
      }
      group.parts.put(last, value);
    }

    /** The fields; empty if nothing was put. */
    Optional<Map<String, @Nullable Object>> fields() {
      return written ? Optional.of(group(List.of(), root)) : Optional.empty();
    }

    private static @Nullable Object whole(List<Object> path, @Nullable Object part) {
      if (part instanceof Group group) {
        boolean items = group.parts.keySet().stream().anyMatch(Integer.class::isInstance);
        return items ? list(path, group) : group(path, group);
      }
      if (part instanceof List<?> list) {
        List<@Nullable Object> items = new ArrayList<>();
        list.forEach(item -> items.add(whole(path, item)));
        return items;
      }
      if (part instanceof Map<?, ?> map) {
        Map<String, @Nullable Object> named = new LinkedHashMap<>();
        map.forEach((name, value) -> named.put(String.valueOf(name), whole(path, value)));
        return named;
      }
      return part;
    }

    private static Map<String, @Nullable Object> group(List<Object> path, Group group) {
      Map<String, @Nullable Object> named = new LinkedHashMap<>();
      group.parts.forEach(
          (step, part) -> {
            if (!(step instanceof String name)) {
              throw mistake(path, "[" + step + "]", "the body cannot be a list: name its fields");
            }
            named.put(name, whole(append(path, step), part));
          });
      return named;
    }

    private static List<@Nullable Object> list(List<Object> path, Group group) {
      List<@Nullable Object> items = new ArrayList<>();
      for (int i = 0; i < group.parts.size(); i++) {
        if (!group.parts.containsKey(i)) {
          throw mistake(
              path,
              group.parts.keySet(),
              "there is no item [%s]: number the items of a list from 0".formatted(i));
        }
        items.add(whole(append(path, i), group.parts.get(i)));
      }
      return items;
    }

    private static List<Object> append(List<Object> path, Object step) {
      List<Object> longer = new ArrayList<>(path);
      longer.add(step);
      return longer;
    }

    private static ConfigurationException bothValueAndGroup(
        List<Object> path, @Nullable Object value) {
      return mistake(
          path, value, "it is a value and a group of fields as well: remove one of them");
    }

    private static ConfigurationException mistake(
        List<Object> path, @Nullable Object value, String remedy) {
      StringBuilder property = new StringBuilder(TemplateConfiguration.PREFIX);
      for (Object step : path) {
        property.append(step instanceof Integer ? "[" + step + "]" : "." + step);
      }
      return new ConfigurationException("%s = %s: %s".formatted(property, value, remedy));
    }
  }
}
