// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.beans.BeanIntrospector;
import io.micronaut.core.beans.BeanReadProperty;
import io.micronaut.core.type.Argument;
import io.micronaut.json.tree.JsonNode;
import java.net.URI;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * Determines at the start whether an argument of some type can distinguish submissions. Types that
 * are not known to be data are rejected: with a stream or a request, all submissions would be
 * equal, or none.
 */
@Internal
public final class DigestibleTypes {

  private DigestibleTypes() {}

  /** The part of the argument's type that cannot be digested; empty if there is none. */
  public static Optional<String> indigestiblePart(Argument<?> argument) {
    return indigestiblePart(argument, new HashSet<>());
  }

  /**
   * @param known beans that were already inspected or are being inspected, since types may contain
   *     themselves
   */
  private static Optional<String> indigestiblePart(Argument<?> argument, Set<Class<?>> known) {
    Class<?> type = argument.getType();
    if (isPlain(type) || isTree(type)) {
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

  /** Whether the text of a value of this type represents the whole value. */
  public static boolean isPlain(Class<?> type) {
    return type.isPrimitive()
        || type == Boolean.class
        || type == Character.class
        || type.isEnum()
        || CharSequence.class.isAssignableFrom(type)
        || Number.class.isAssignableFrom(type)
        || TemporalAccessor.class.isAssignableFrom(type)
        || TemporalAmount.class.isAssignableFrom(type)
        || type == UUID.class
        || type == URI.class
        || type == Locale.class;
  }
}
