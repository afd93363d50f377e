// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.json.JsonMapper;
import io.micronaut.json.tree.JsonNode;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Comparator;
import java.util.Map;
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
    if (argument == null) {
      return JsonNode.nullNode();
    }
    try {
      JsonNode tree = mapper.writeValueToTree(argument);
      if (tree.isObject() && tree.size() == 0 && !(argument instanceof Map)) {
        throw new IllegalStateException(
            "A %s is written as an empty JSON object, so all submissions of it would be equal: let it have a property that is written, or use DuplicateBy.CALLER"
                .formatted(argument.getClass().getName()));
      }
      return tree;
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
      text.append('#').append(NumberText.of(node.getNumberValue())).append(',');
    } else {
      text.append(node.isNull() ? "n" : node.getBooleanValue() ? "t" : "f");
    }
  }

  private static void text(String value, StringBuilder text) {
    text.append(value.length()).append(':').append(value);
  }
}
