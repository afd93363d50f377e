// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.util.LogThrottle;
import io.limiter.core.util.NearestNames;
import io.micronaut.core.beans.BeanIntrospection;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.json.JsonMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Binds JSON objects to introspected records. It does not depend on the JSON mapper: a mapper of
 * the application may ignore an unknown member, or accept a number as a text. Each mistake is a 400
 * that names it.
 */
final class BodyReader {

  /** The most characters of a text: more than a header field has. */
  static final int MAX_TEXT = 8_192;

  /** The most characters of what a message quotes. */
  private static final int MAX_QUOTED = 100;

  /** The types of components, and of the values of maps, with what they take. */
  private static final Map<Class<?>, String> TYPES =
      Map.of(
          String.class,
          "a text of 1 to " + MAX_TEXT + " characters",
          Object.class,
          "a text or a number",
          Boolean.class,
          "true or false",
          Long.class,
          "a whole number",
          Duration.class,
          "a time with its unit, such as 15m");

  private static final Argument<Map<String, Object>> OBJECT =
      Argument.mapOf(String.class, Object.class);

  private final JsonMapper mapper;
  private final ConversionService conversion;

  BodyReader(JsonMapper mapper, ConversionService conversion) {
    this.mapper = mapper;
    this.conversion = conversion;
  }

  /** The members of a body, which records share. */
  final class BodyMembers {

    private final Map<String, Object> members;

    private BodyMembers(Map<String, Object> members) {
      this.members = members;
    }

    /** A record of some of the members. An absent map is an empty one. */
    <T> T as(Class<T> type) {
      BeanIntrospection<T> introspection = BeanIntrospection.getIntrospection(type);
      return introspection.instantiate(
          Stream.of(introspection.getConstructorArguments())
              .map(component -> member(component, members.get(component.getName())))
              .toArray());
    }
  }

  /**
   * Reads a body.
   *
   * @param example a body that would be right, for messages
   * @param types the records whose components are the members that it may have
   */
  BodyMembers read(@Nullable String text, String example, Class<?>... types) {
    List<String> known =
        Stream.of(types)
            .flatMap(type -> Stream.of(BeanIntrospection.getIntrospection(type).getPropertyNames()))
            .toList();
    Map<String, Object> members = parsed(text);
    if (members == null) {
      throw mistake("The body is not a JSON object: send one such as " + example);
    }
    for (String member : members.keySet()) {
      if (!known.contains(member)) {
        throw mistake(
            "There is no member '%s': %s, such as %s"
                .formatted(quoted(member), oneOf(known, member), example));
      }
    }
    return new BodyMembers(members);
  }

  private @Nullable Map<String, Object> parsed(@Nullable String text) {
    try {
      return text == null || text.isBlank() ? null : mapper.readValue(text, OBJECT);
    } catch (IOException | RuntimeException unreadable) {
      return null;
    }
  }

  private @Nullable Object member(Argument<?> component, @Nullable Object value) {
    String name = component.getName();
    if (component.getType() == Map.class) {
      return values(name, component.getTypeParameters()[1].getType(), value);
    }
    if (value == null && !component.isNullable()) {
      throw mistake("The member '%s' is missing".formatted(name));
    }
    return value == null ? null : value("'%s'".formatted(name), component.getType(), value);
  }

  private Map<String, Object> values(String member, Class<?> type, @Nullable Object value) {
    if (value != null && !(value instanceof Map)) {
      throw wrong("'%s'".formatted(member), value, "an object of names and values");
    }
    Map<String, Object> values = new LinkedHashMap<>();
    if (value instanceof Map<?, ?> object) {
      object.forEach(
          (key, each) -> {
            String name = String.valueOf(key);
            values.put(name, value("'%s' of '%s'".formatted(quoted(name), member), type, each));
          });
    }
    return values;
  }

  private Object value(String where, Class<?> type, @Nullable Object value) {
    return converted(type, value)
        .orElseThrow(() -> wrong(where, value, Objects.requireNonNull(TYPES.get(type))));
  }

  /** Conversion alone would accept a number as a text, and most texts as false. */
  private Optional<?> converted(Class<?> type, @Nullable Object value) {
    if (value instanceof String text && (text.isBlank() || text.length() > MAX_TEXT)) {
      return Optional.empty();
    }
    if (value instanceof String text && type == Duration.class) {
      return conversion.convert(text, Duration.class);
    }
    if (value instanceof Integer number && type == Long.class) {
      return Optional.of(number.longValue());
    }
    boolean fits =
        type == Object.class
            ? value instanceof String || value instanceof Number
            : type.isInstance(value);
    return Optional.ofNullable(fits ? value : null);
  }

  private static HttpStatusException wrong(String where, @Nullable Object value, String remedy) {
    String written = quoted(String.valueOf(value));
    return mistake(
        "The member %s is %s: set it to %s"
            .formatted(where, value instanceof String ? "'" + written + "'" : written, remedy));
  }

  /** The remedy for an unknown name. */
  static String oneOf(Collection<String> known, String name) {
    List<String> nearest = NearestNames.of(known, name);
    return nearest.isEmpty()
        ? "use one of " + String.join(", ", known)
        : "did you mean " + nearest.get(0) + "?";
  }

  static HttpStatusException mistake(@Nullable String what) {
    return new HttpStatusException(HttpStatus.BAD_REQUEST, String.valueOf(what));
  }

  static String quoted(String text) {
    return LogThrottle.oneLine(text, MAX_QUOTED);
  }
}
