// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.core.beans.BeanIntrospection;
import io.micronaut.core.beans.BeanIntrospector;
import io.micronaut.core.beans.BeanReadProperty;
import io.micronaut.core.type.Argument;
import io.micronaut.json.JsonMapper;
import io.micronaut.json.tree.JsonNode;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * Puts the arguments of a submission into one canonical text: JSON as the application's own mapper
 * writes it, members in order of their names. What the mapper leaves out, such as null members,
 * tells nothing apart.
 */
@Singleton
public final class SubmissionDigest {

  private final JsonMapper mapper;

  SubmissionDigest(JsonMapper mapper) {
    this.mapper = mapper;
  }

  /**
   * The text of these arguments of one call.
   *
   * @param method the method that is called, for messages
   * @param arguments its arguments
   * @param values what is passed to them
   * @param positions which of them to write, from 0
   * @throws IllegalStateException if the mapper cannot write one of them, or leaves out all that it
   *     holds; its message names the method, the argument and the remedy, and nothing of the value
   */
  public String of(
      String method, Argument<?>[] arguments, @Nullable Object[] values, List<Integer> positions) {
    StringBuilder text = new StringBuilder();
    for (int position : positions) {
      Object value = values[position];
      if (value == null) {
        write(JsonNode.nullNode(), text);
      } else {
        JsonNode tree;
        try {
          tree = mapper.writeValueToTree(value);
        } catch (IOException | RuntimeException e) {
          throw mistake(method, arguments[position], value, "cannot be written as JSON", e);
        }
        if (tree.isObject() && tree.size() == 0 && holdsAnything(value)) {
          throw mistake(
              method,
              arguments[position],
              value,
              "is written as an empty JSON object, whatever it holds",
              null);
        }
        write(tree, text);
      }
      text.append('\n');
    }
    return text.toString();
  }

  private static IllegalStateException mistake(
      String method,
      Argument<?> argument,
      Object value,
      String mistake,
      @Nullable Exception cause) {
    return new IllegalStateException(
        "%s: @RateLimiter.duplicateBy = ARGUMENTS: the argument '%s' (%s) %s: let the JSON mapper write its properties, or use duplicateKey = \"#{…}\" or duplicateBy = CALLER"
            .formatted(method, argument.getName(), value.getClass().getName(), mistake),
        cause);
  }

  /**
   * Whether an empty object hides what would make submissions differ: mappers leave out what is
   * null or empty. Of a type without an introspection that is not known: it counts as holding some.
   */
  private static boolean holdsAnything(Object value) {
    return !(value instanceof Map)
        && !(value instanceof JsonNode)
        && BeanIntrospector.SHARED
            .findIntrospection(value.getClass())
            .map(bean -> holdsAnything(bean, value))
            .orElse(true);
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // the introspection is that of the value's class
  private static boolean holdsAnything(BeanIntrospection bean, Object value) {
    for (Object property : bean.getBeanReadProperties()) {
      Object held = ((BeanReadProperty<Object, ?>) property).get(value);
      if (!(held == null
          || (held instanceof CharSequence text && text.isEmpty())
          || (held instanceof Collection<?> items && items.isEmpty())
          || (held instanceof Map<?, ?> entries && entries.isEmpty())
          || (held instanceof Optional<?> optional && optional.isEmpty())
          || (held instanceof Object[] array && array.length == 0))) {
        return true;
      }
    }
    return false;
  }

  /** Strings and names carry their length, so that no content can look like structure. */
  private static void write(JsonNode node, StringBuilder text) {
    if (node.isObject()) {
      text.append('{');
      StreamSupport.stream(node.entries().spliterator(), false)
          .sorted(Map.Entry.comparingByKey(Comparator.naturalOrder()))
          .forEach(
              member -> {
                text(member.getKey(), text);
                write(member.getValue(), text);
              });
      text.append('}');
    } else if (node.isArray()) {
      text.append('[');
      node.values().forEach(element -> write(element, text));
      text.append(']');
    } else if (node.isString()) {
      text(node.getStringValue(), text);
    } else if (node.isNumber()) {
      text.append('#').append(NumberText.of(node.getNumberValue())).append(',');
    } else {
      text.append(node.isNull() ? "n" : node.getBooleanValue() ? "t" : "f");
    }
  }

  private static void text(String value, StringBuilder text) {
    text.append(value.length()).append(':').append(value);
  }
}
