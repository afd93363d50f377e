// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.json.tree.JsonNode;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A JSON value of constants and values of a rejected request. It is written as bytes, or filled as
 * a tree, which the application's JSON mapper writes: the same bytes, unless it has settings of the
 * application.
 */
@Internal
public final class JsonTemplate {

  /** Maps, lists, constants and parts. */
  private final @Nullable Object content;

  // The same in the order of the text: a constant before each part, and one behind the last.
  private final List<byte[]> constants = new ArrayList<>();
  private final List<Part> parts = new ArrayList<>();

  /** A part that depends on the request and its rejection. */
  @FunctionalInterface
  interface Part {

    /** A text, a whole number as a Long, or a list of texts; null if there is no such value. */
    @Nullable Object of(Rejection rejection);
  }

  /**
   * @param content a map, a list, null, a boolean, a number, a text, or a {@link Part}, with any
   *     nesting
   */
  JsonTemplate(@Nullable Object content) {
    this.content = content;
    JsonOutput constant = new JsonOutput();
    split(content, constant);
    constants.add(constant.copy());
  }

  private void split(@Nullable Object value, JsonOutput constant) {
    if (value instanceof Part part) {
      constants.add(constant.copy());
      parts.add(part);
    } else if (value instanceof Map<?, ?> fields) {
      String before = "{";
      for (Map.Entry<?, ?> field : fields.entrySet()) {
        constant.ascii(before);
        constant.text(String.valueOf(field.getKey()));
        constant.ascii(":");
        split(field.getValue(), constant);
        before = ",";
      }
      constant.ascii(fields.isEmpty() ? "{}" : "}");
    } else if (value instanceof List<?> items) {
      String before = "[";
      for (Object item : items) {
        constant.ascii(before);
        split(item, constant);
        before = ",";
      }
      constant.ascii(items.isEmpty() ? "[]" : "]");
    } else {
      constant.value(value);
    }
  }

  /** An object with these fields: names and contents, in turn. */
  static Map<String, @Nullable Object> object(@Nullable Object... fields) {
    Map<String, @Nullable Object> object = new LinkedHashMap<>();
    for (int i = 0; i < fields.length; i += 2) {
      object.put(String.valueOf(fields[i]), fields[i + 1]);
    }
    return object;
  }

  /**
   * Reads a configured value. A text that is a single placeholder is replaced by that value with
   * its JSON type; other texts remain texts.
   *
   * @param property its property, for messages
   * @throws ConfigurationException if a placeholder is unknown, with property, value and remedy
   */
  static JsonTemplate read(String property, Map<String, @Nullable Object> fields) {
    return new JsonTemplate(content(property, fields));
  }

  private static @Nullable Object content(String property, @Nullable Object value) {
    if (value instanceof Map<?, ?> map) {
      Map<String, @Nullable Object> fields = new LinkedHashMap<>();
      map.forEach(
          (name, field) -> fields.put(String.valueOf(name), content(property + "." + name, field)));
      return fields;
    }
    if (value instanceof List<?> list) {
      List<@Nullable Object> items = new ArrayList<>();
      list.forEach(item -> items.add(content(property + "[" + items.size() + "]", item)));
      return items;
    }
    if (value instanceof Number number) {
      return new BigDecimal(number.toString());
    }
    return value == null || value instanceof Boolean ? value : text(property, value.toString());
  }

  private static Part text(String property, String value) {
    TextTemplate text;
    try {
      text = TextTemplate.parse(value);
    } catch (IllegalArgumentException e) {
      throw new ConfigurationException("%s = %s: %s".formatted(property, value, e.getMessage()), e);
    }
    Map<String, Denial.Value> values = new LinkedHashMap<>();
    for (String name : text.names()) {
      values.put(
          name,
          Denial.Value.named(name).orElseThrow(() -> unknownPlaceholder(property, value, name)));
    }
    Denial.Value only = text.only().map(values::get).orElse(null);
    if (only != null) {
      return only;
    }
    return rejection ->
        text.fill(
            name -> {
              Denial.Value known = values.get(name);
              return known == null ? "" : known.text(rejection);
            });
  }

  private static ConfigurationException unknownPlaceholder(
      String property, String value, String name) {
    return new ConfigurationException(
        "%s = %s: unknown placeholder {%s}: use %s, or write {{ for a brace"
            .formatted(
                property,
                value,
                name,
                Arrays.stream(Denial.Value.values())
                    .map(known -> "{" + known.placeholder() + "}")
                    .collect(Collectors.joining(", "))));
  }

  /** The value as a tree, of which an application's mapper leaves nothing out, such as nulls. */
  JsonNode fill(Rejection rejection) {
    return node(content, rejection);
  }

  private static JsonNode node(@Nullable Object value, Rejection rejection) {
    if (value instanceof Part part) {
      return node(part.of(rejection), rejection);
    }
    if (value instanceof Map<?, ?> fields) {
      Map<String, JsonNode> nodes = new LinkedHashMap<>();
      fields.forEach((name, field) -> nodes.put(String.valueOf(name), node(field, rejection)));
      return JsonNode.createObjectNode(nodes);
    }
    if (value instanceof List<?> items) {
      return JsonNode.createArrayNode(items.stream().map(item -> node(item, rejection)).toList());
    }
    if (value == null) {
      return JsonNode.nullNode();
    }
    if (value instanceof Boolean truth) {
      return JsonNode.createBooleanNode(truth);
    }
    return value instanceof Number number
        ? JsonNode.createNumberNode(new BigDecimal(number.toString()))
        : JsonNode.createStringNode(value.toString());
  }

  /**
   * The value in UTF-8.
   *
   * @throws IllegalArgumentException if the body contains the URI of the request, and it is invalid
   */
  public byte[] write(Rejection rejection) {
    JsonOutput json = new JsonOutput();
    for (int i = 0; i < parts.size(); i++) {
      json.bytes(constants.get(i));
      json.value(parts.get(i).of(rejection));
    }
    json.bytes(constants.get(parts.size()));
    return json.copy();
  }
}
