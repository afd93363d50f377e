// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.management;

import io.limiter.core.util.LogThrottle;
import io.limiter.core.util.NearestNames;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.json.JsonMapper;
import io.micronaut.json.tree.JsonNode;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The members of a JSON object that a client has sent. Each mistake is a 400 that names it. */
final class RequestBody {

  /** The most characters of a value: more than a header field has. */
  static final int MAX_VALUE = 8_192;

  /** The most characters of what a message quotes. */
  private static final int MAX_QUOTED = 100;

  private final Map<String, JsonNode> members;

  private RequestBody(Map<String, JsonNode> members) {
    this.members = members;
  }

  /**
   * Reads a body.
   *
   * @param known the members that it may have
   * @param example a body that would be right, for messages
   */
  static RequestBody read(
      JsonMapper mapper, @Nullable String text, List<String> known, String example) {
    JsonNode body;
    try {
      body =
          text == null || text.isBlank()
              ? JsonNode.nullNode()
              : mapper.readValue(text, JsonNode.class);
    } catch (IOException | RuntimeException unreadable) {
      body = null;
    }
    if (body == null || !body.isObject()) {
      throw mistake("The body is no JSON object: send one such as " + example);
    }
    Map<String, JsonNode> members = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> member : body.entries()) {
      if (!known.contains(member.getKey())) {
        List<String> nearest = NearestNames.of(known, member.getKey());
        throw mistake(
            "There is no member '%s': %s, such as %s"
                .formatted(
                    quoted(member.getKey()),
                    nearest.isEmpty()
                        ? "use one of " + String.join(", ", known)
                        : "did you mean " + nearest.get(0) + "?",
                    example));
      }
      members.put(member.getKey(), member.getValue());
    }
    return new RequestBody(members);
  }

  static HttpStatusException mistake(@Nullable String what) {
    return new HttpStatusException(HttpStatus.BAD_REQUEST, String.valueOf(what));
  }

  static String quoted(String text) {
    return LogThrottle.oneLine(text, MAX_QUOTED);
  }

  boolean has(String member) {
    return members.containsKey(member);
  }

  /** A text that is not blank. */
  String text(String member) {
    return text("member '" + member + "'", node(member));
  }

  /** A text that is not blank, or a number. */
  Object textOrNumber(String member) {
    JsonNode node = node(member);
    return node.isNumber() ? node.getNumberValue() : text(member);
  }

  /** An object with one member, whose value is a text that is not blank. */
  Map.Entry<String, String> named(String member, String example) {
    JsonNode node = node(member);
    if (!node.isObject() || node.size() != 1) {
      throw mistake(
          "The member '%s' is %s: give it an object with one name and value, such as %s"
              .formatted(
                  member, node.isObject() ? "an object of " + node.size() : type(node), example));
    }
    Map.Entry<String, JsonNode> only = node.entries().iterator().next();
    String value =
        text("member '%s' of '%s'".formatted(quoted(only.getKey()), member), only.getValue());
    return Map.entry(only.getKey(), value);
  }

  /** An object of whole numbers, at least one. */
  Map<String, Long> numbers(String member, String example) {
    JsonNode node = node(member);
    if (!node.isObject() || node.size() == 0) {
      throw mistake(
          "The member '%s' is %s: give it an object of numbers, such as %s"
              .formatted(member, node.isObject() ? "empty" : type(node), example));
    }
    Map<String, Long> numbers = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> number : node.entries()) {
      JsonNode value = number.getValue();
      if (!value.isNumber() || value.getDoubleValue() != value.getLongValue()) {
        throw mistake(
            "The member '%s' of '%s' is %s: give it a whole number"
                .formatted(
                    quoted(number.getKey()),
                    member,
                    value.isNumber() ? value.getNumberValue() : type(value)));
      }
      numbers.put(number.getKey(), value.getLongValue());
    }
    return numbers;
  }

  boolean flag(String member) {
    JsonNode node = node(member);
    if (!node.isBoolean()) {
      throw mistake("The member '%s' is %s: give it true or false".formatted(member, type(node)));
    }
    return node.getBooleanValue();
  }

  /** A member that may only be true. */
  void requireTrue(String member) {
    if (!flag(member)) {
      throw mistake("The member '%s' is false: give it true, or leave it out".formatted(member));
    }
  }

  private JsonNode node(String member) {
    JsonNode node = members.get(member);
    if (node == null) {
      throw mistake("The member '%s' is missing".formatted(member));
    }
    return node;
  }

  private static String text(String where, JsonNode node) {
    if (!node.isString()) {
      throw mistake("The %s is %s: give it a text".formatted(where, type(node)));
    }
    String text = node.getStringValue();
    if (text.isBlank()) {
      throw mistake("The %s is blank: give it a value".formatted(where));
    }
    if (text.length() > MAX_VALUE) {
      throw mistake(
          "The %s has %d characters: give it %d at most"
              .formatted(where, text.length(), MAX_VALUE));
    }
    return text;
  }

  private static String type(JsonNode node) {
    if (node.isObject()) {
      return "an object";
    }
    if (node.isArray()) {
      return "a list";
    }
    if (node.isNull()) {
      return "null";
    }
    return node.isString() ? "a text" : node.isBoolean() ? "true or false" : "a number";
  }
}
