// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.core.beans.BeanIntrospection;
import io.micronaut.core.beans.BeanIntrospector;
import io.micronaut.core.type.Argument;
import io.micronaut.json.tree.JsonNode;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * Tells at start whether a submission can be told from another by an argument of this type. What is
 * not known to be data is refused: a stream or a request would make all submissions equal, or none.
 */
public final class DigestibleTypes {

  private DigestibleTypes() {}

  /** The part of the argument's type that cannot be digested; empty if all of it can. */
  public static Optional<String> indigestiblePart(Argument<?> argument) {
    Class<?> type = argument.getType();
    if (isPlain(type)) {
      return Optional.empty();
    }
    if (JsonNode.class.isAssignableFrom(type)) {
      return Optional.empty();
    }
    if (type.isArray()) {
      return indigestiblePart(Argument.of(type.getComponentType()));
    }
    if (Iterable.class.isAssignableFrom(type)
        || Map.class.isAssignableFrom(type)
        || type == Optional.class) {
      Argument<?>[] parts = argument.getTypeParameters();
      return parts.length == 0
          ? Optional.of(type.getName() + " without its type parameters")
          : Arrays.stream(parts)
              .filter(part -> part.getType() != Object.class) // a JSON tree
              .flatMap(part -> indigestiblePart(part).stream())
              .findFirst();
    }
    return hasProperties(type) ? Optional.empty() : Optional.of(type.getName());
  }

  /** Whether the text of a value of this type is the value itself. */
  public static boolean isPlain(Class<?> type) {
    return type.isPrimitive()
        || type == Boolean.class
        || type == Character.class
        || type.isEnum()
        || CharSequence.class.isAssignableFrom(type)
        || Number.class.isAssignableFrom(type)
        || TemporalAccessor.class.isAssignableFrom(type)
        || TemporalAmount.class.isAssignableFrom(type)
        || type == UUID.class;
  }

  private static boolean hasProperties(Class<?> type) {
    return BeanIntrospector.SHARED
        .findIntrospection(type)
        .map(BeanIntrospection::getBeanReadProperties)
        .filter(properties -> !properties.isEmpty())
        .isPresent();
  }
}
