// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.json.JsonMapper;
import io.micronaut.json.tree.JsonNode;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.Comparator;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * Puts the arguments of a submission into one canonical text: JSON as the application's own mapper
 * writes it, members in order of their names. Equal submissions have equal texts, and no others.
 */
@Singleton
public final class SubmissionDigest {

  private final JsonMapper mapper;

  SubmissionDigest(JsonMapper mapper) {
    this.mapper = mapper;
  }

  /**
   * The text of these arguments.
   *
   * @throws UncheckedIOException if the mapper cannot write one of them
   */
  public String of(@Nullable Object[] arguments) {
    StringBuilder text = new StringBuilder();
    for (Object argument : arguments) {
      write(tree(argument), text);
      text.append('\n');
    }
    return text.toString();
  }

  private JsonNode tree(@Nullable Object argument) {
    try {
      return argument == null ? JsonNode.nullNode() : mapper.writeValueToTree(argument);
    } catch (IOException e) {
      throw new UncheckedIOException("An argument of a submission cannot be written as JSON", e);
    }
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
      text.append('#').append(number(node)).append(',');
    } else {
      text.append(node.isNull() ? "n" : node.getBooleanValue() ? "t" : "f");
    }
  }

  /**
   * One text for 1, 1.0 and 1e0. A caller can send numbers that have no decimal value, as 1e400.
   */
  private static String number(JsonNode node) {
    double rounded = node.getDoubleValue();
    Number value = node.getNumberValue();
    if (!Double.isFinite(rounded) && (value instanceof Double || value instanceof Float)) {
      return Double.toString(rounded);
    }
    BigDecimal exact = node.getBigDecimalValue();
    try {
      return exact.stripTrailingZeros().toString();
    } catch (ArithmeticException scaleOverflow) {
      return exact.toString();
    }
  }

  private static void text(String value, StringBuilder text) {
    text.append(value.length()).append(':').append(value);
  }
}
