// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.micronaut.config.TemplateConfiguration;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.json.tree.JsonNode;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A body with the application's own fields: JSON with any names and nesting. */
final class TemplateBody implements DenialBody {

  private final TemplatePart template;

  /**
   * Reads the template once.
   *
   * @throws io.micronaut.context.exceptions.ConfigurationException if a placeholder is unknown,
   *     with property, value and remedy
   */
  TemplateBody(Map<String, @Nullable Object> fields) {
    this.template = TemplatePart.read(TemplateConfiguration.PREFIX, fields);
  }

  @Override
  public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
    return response.body(template.fill(denial)).contentType(MediaType.APPLICATION_JSON_TYPE);
  }

  /**
   * One parsed value of a template. A text that is a single placeholder is replaced by that value
   * with its JSON type; other texts remain texts.
   */
  @FunctionalInterface
  interface TemplatePart {

    /**
     * The value for one denial. It is a tree, since an application's mapper might leave out nulls.
     */
    JsonNode fill(Denial denial);

    /**
     * Reads a configured value.
     *
     * @param property its property, for messages
     */
    static TemplatePart read(String property, @Nullable Object value) {
      if (value instanceof Map<?, ?> map) {
        Map<String, TemplatePart> fields = new LinkedHashMap<>();
        map.forEach(
            (name, field) -> fields.put(String.valueOf(name), read(property + "." + name, field)));
        return denial -> {
          Map<String, JsonNode> filled = new LinkedHashMap<>();
          fields.forEach((name, field) -> filled.put(name, field.fill(denial)));
          return JsonNode.createObjectNode(filled);
        };
      }
      if (value instanceof List<?> list) {
        List<TemplatePart> items = new ArrayList<>();
        list.forEach(item -> items.add(read(property + "[" + items.size() + "]", item)));
        return denial ->
            JsonNode.createArrayNode(items.stream().map(item -> item.fill(denial)).toList());
      }
      if (value == null || value instanceof Boolean || value instanceof Number) {
        JsonNode constant = node(value);
        return denial -> constant;
      }
      return text(property, value.toString());
    }

    private static TemplatePart text(String property, String value) {
      TextTemplate text;
      try {
        text = TextTemplate.parse(value);
      } catch (IllegalArgumentException e) {
        throw new ConfigurationException(
            "%s = %s: %s".formatted(property, value, e.getMessage()), e);
      }
      Map<String, DenialValue> values = new LinkedHashMap<>();
      for (String name : text.names()) {
        values.put(
            name,
            DenialValue.named(name).orElseThrow(() -> unknownPlaceholder(property, value, name)));
      }
      DenialValue only = text.only().map(values::get).orElse(null);
      if (only != null) {
        return denial -> node(only.of(denial));
      }
      return denial ->
          JsonNode.createStringNode(
              text.fill(
                  name -> {
                    DenialValue known = values.get(name);
                    return known == null ? "" : known.text(denial);
                  }));
    }

    private static ConfigurationException unknownPlaceholder(
        String property, String value, String name) {
      return new ConfigurationException(
          "%s = %s: unknown placeholder {%s}: use %s, or write {{ for a brace"
              .formatted(
                  property,
                  value,
                  name,
                  Arrays.stream(DenialValue.values())
                      .map(known -> "{" + known.placeholder() + "}")
                      .collect(Collectors.joining(", "))));
    }

    private static JsonNode node(@Nullable Object value) {
      if (value == null) {
        return JsonNode.nullNode();
      }
      if (value instanceof Boolean truth) {
        return JsonNode.createBooleanNode(truth);
      }
      if (value instanceof Number number) {
        return JsonNode.createNumberNode(new BigDecimal(number.toString()));
      }
      if (value instanceof List<?> items) {
        return JsonNode.createArrayNode(items.stream().map(TemplatePart::node).toList());
      }
      return JsonNode.createStringNode(value.toString());
    }
  }
}
