// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.exception.InvalidCallException.InvalidSubmissionException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.beans.BeanIntrospection;
import io.micronaut.core.beans.BeanIntrospector;
import io.micronaut.core.beans.BeanReadProperty;
import io.micronaut.core.type.Argument;
import io.micronaut.json.JsonMapper;
import io.micronaut.json.tree.JsonNode;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Writes the arguments of a submission as one canonical text: JSON as the application's own mapper
 * writes it, with members in the order of their names. What the mapper leaves out, such as null
 * members, is not compared.
 */
@Internal
@Singleton
public final class SubmissionDigest {

  /** Deeper than any reasonable value. */
  private static final int DEEP = 64;

  private static final int MAX_PARTS = 100_000;

  private final JsonMapper mapper;

  SubmissionDigest(JsonMapper mapper) {
    this.mapper = mapper;
  }

  /**
   * The part of an argument's type that cannot be digested; empty if it can distinguish
   * submissions. Types that are not known to be data are rejected: with a stream or a request, all
   * submissions would be equal, or none.
   */
  public static Optional<String> indigestiblePart(Argument<?> argument) {
    return indigestiblePart(argument, new HashSet<>());
  }

  /**
   * @param known beans that were already inspected or are being inspected, since types may contain
   *     themselves
   */
  private static Optional<String> indigestiblePart(Argument<?> argument, Set<Class<?>> known) {
    Class<?> type = argument.getType();
    if (CallExpression.isPlain(type) || isTree(type)) {
      return Optional.empty();
    }
    if (type.isArray()) {
      return indigestiblePart(Argument.of(type.getComponentType()), known);
    }
    if (Iterable.class.isAssignableFrom(type)
        || Map.class.isAssignableFrom(type)
        || type == Optional.class) {
      return argument.getTypeParameters().length == 0
          ? Optional.of(type.getName() + " without its type parameters")
          : firstIndigestible(Arrays.stream(argument.getTypeParameters()), known);
    }
    List<Argument<?>> properties = properties(type);
    if (properties.isEmpty()) {
      return Optional.of(type.getName());
    }
    return known.add(type) ? firstIndigestible(properties.stream(), known) : Optional.empty();
  }

  /** Whether the type is an untyped body or part of one, or left open by a superclass. */
  private static boolean isTree(Class<?> type) {
    return type == Object.class || JsonNode.class.isAssignableFrom(type);
  }

  private static Optional<String> firstIndigestible(
      Stream<Argument<?>> parts, Set<Class<?>> known) {
    return parts.flatMap(part -> indigestiblePart(part, known).stream()).findFirst();
  }

  private static List<Argument<?>> properties(Class<?> type) {
    return BeanIntrospector.SHARED
        .findIntrospection(type)
        .map(bean -> bean.getBeanReadProperties().stream())
        .orElseGet(Stream::empty)
        .<Argument<?>>map(BeanReadProperty::asArgument)
        .toList();
  }

  /**
   * The text of these arguments of one call.
   *
   * @param method the called method, for messages
   * @param arguments its arguments
   * @param values their values
   * @param positions the arguments to write, from 0
   * @throws InvalidSubmissionException if one of them is nested deeper than the mapper can write
   * @throws IllegalStateException if the mapper cannot write one of them, or leaves out all of its
   *     content; the message names the method, the argument and the remedy, but no part of the
   *     value
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
        } catch (StackOverflowError deep) { // serializers are recursive, and the value was too deep
          throw tooDeep(method, arguments[position]);
        } catch (IOException | RuntimeException e) {
          if (isDeep(value)) {
            throw tooDeep(method, arguments[position]);
          }
          throw mistake(method, arguments[position], value, "cannot be written as JSON", e);
        }
        if (tree.isObject() && tree.size() == 0 && holdsAnything(value)) {
          throw mistake(
              method,
              arguments[position],
              value,
              "is written as an empty JSON object, whatever its content",
              null);
        }
        write(tree, text);
      }
      text.append('\n');
    }
    return text.toString();
  }

  private static InvalidSubmissionException tooDeep(String method, Argument<?> argument) {
    return new InvalidSubmissionException(
        "%s: @Duplicate.by = ARGUMENTS: the argument '%s' is nested too deeply to be compared"
            .formatted(method, argument.getName()));
  }

  private static IllegalStateException mistake(
      String method,
      Argument<?> argument,
      Object value,
      String mistake,
      @Nullable Exception cause) {
    return new IllegalStateException(
        "%s: @Duplicate.by = ARGUMENTS: the argument '%s' (%s) %s: let the JSON mapper write its properties, or use key = \"#{…}\" or by = CALLER"
            .formatted(method, argument.getName(), value.getClass().getName(), mistake),
        cause);
  }

  /**
   * Whether a value that is written as an empty object has content that would distinguish
   * submissions: mappers leave out null and empty values. A type without an introspection is
   * assumed to have content.
   */
  private static boolean holdsAnything(Object value) {
    return !(value instanceof Map)
        && !(value instanceof JsonNode)
        && BeanIntrospector.SHARED
            .findIntrospection(value.getClass())
            .map(bean -> holdsAnything(bean, value))
            .orElse(true);
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // the introspection belongs to the value's class
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

  /**
   * Whether a value that could not be written is nested so deeply that this may be the reason: some
   * mappers report it like any other failure. Inspects at most {@value #MAX_PARTS} parts, level by
   * level.
   */
  private static boolean isDeep(Object value) {
    Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    List<Object> level = List.of(value);
    for (int depth = 0; depth < DEEP; depth++) {
      List<Object> below = new ArrayList<>();
      for (Object part : level) {
        for (Object within : partsOf(part)) {
          if (within != null && seen.add(within)) { // a value of the application may contain itself
            below.add(within);
          }
        }
        if (seen.size() > MAX_PARTS) {
          return false;
        }
      }
      if (below.isEmpty()) {
        return false;
      }
      level = below;
    }
    return true;
  }

  private static Iterable<?> partsOf(Object part) {
    if (part instanceof Map<?, ?> map) {
      return map.values();
    }
    if (part instanceof JsonNode node) {
      return node.isContainerNode() ? node.values() : List.of();
    }
    if (part instanceof Collection<?> items) {
      return items;
    }
    if (part instanceof Object[] items) {
      return Arrays.asList(items);
    }
    if (part instanceof Optional<?> optional) {
      return optional.stream().toList();
    }
    return CallExpression.isPlain(part.getClass())
        ? List.of()
        : BeanIntrospector.SHARED
            .findIntrospection(part.getClass())
            .map(bean -> heldBy(bean, part))
            .orElse(List.of());
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // the introspection belongs to the value's class
  private static List<@Nullable Object> heldBy(BeanIntrospection bean, Object value) {
    List<@Nullable Object> held = new ArrayList<>();
    for (Object property : bean.getBeanReadProperties()) {
      try {
        held.add(((BeanReadProperty<Object, ?>) property).get(value));
      } catch (Throwable broken) {
        // A cycle may be the reason of the failure, but is not depth.
      }
    }
    return held;
  }

  /**
   * Writes a tree without recursion, since the client chooses its depth. Strings and names are
   * prefixed with their length, so that content cannot be mistaken for structure.
   */
  private static void write(JsonNode root, StringBuilder text) {
    Deque<Open> open = new ArrayDeque<>(); // innermost first
    begin(root, text, open);
    while (!open.isEmpty()) {
      Iterator<?> parts = open.getFirst().parts();
      Object part = parts.hasNext() ? parts.next() : null;
      if (part == null) {
        text.append(open.removeFirst().end());
      } else if (part instanceof Map.Entry<?, ?> member) {
        text(String.valueOf(member.getKey()), text);
        begin((JsonNode) member.getValue(), text, open);
      } else {
        begin((JsonNode) part, text, open);
      }
    }
  }

  /**
   * An object or an array that is being written.
   *
   * @param parts its remaining members, in order of their names, or elements
   */
  private record Open(Iterator<?> parts, char end) {}

  private static void begin(JsonNode node, StringBuilder text, Deque<Open> open) {
    if (node.isObject()) {
      List<Map.Entry<String, JsonNode>> members = new ArrayList<>(node.size());
      node.entries().forEach(members::add);
      members.sort(Map.Entry.comparingByKey());
      text.append('{');
      open.addFirst(new Open(members.iterator(), '}'));
    } else if (node.isArray()) {
      text.append('[');
      open.addFirst(new Open(node.values().iterator(), ']'));
    } else if (node.isString()) {
      text(node.getStringValue(), text);
    } else if (node.isNumber()) {
      text.append('#').append(CallExpression.textOf(node.getNumberValue())).append(',');
    } else {
      text.append(node.isNull() ? "n" : node.getBooleanValue() ? "t" : "f");
    }
  }

  private static void text(String value, StringBuilder text) {
    text.append(value.length()).append(':').append(value);
  }
}
