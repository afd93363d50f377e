// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.micronaut.core.annotation.Introspected;
import io.micronaut.inject.ast.ClassElement;
import io.micronaut.inject.ast.GenericPlaceholderElement;
import io.micronaut.inject.ast.PropertyElement;
import java.net.URI;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * Determines from the source whether an argument can distinguish submissions: what {@code
 * SubmissionDigest} determines at the start. It names only what cannot become digestible elsewhere:
 * a class of the application may be introspected by another one.
 */
final class DigestibleElements {

  /** Whose classes the application does not introspect. */
  private static final List<String> FOREIGN =
      List.of("java.", "javax.", "jakarta.", "io.micronaut.", "io.netty.", "reactor.");

  private static final List<Class<?>> PLAIN =
      List.of(
          Boolean.class,
          Character.class,
          CharSequence.class,
          Number.class,
          TemporalAccessor.class,
          TemporalAmount.class,
          UUID.class,
          URI.class,
          Locale.class);

  private DigestibleElements() {}

  static Optional<String> indigestiblePart(ClassElement type) {
    return indigestiblePart(type, new HashSet<>());
  }

  /**
   * @param known types that were already inspected, since they may contain themselves
   */
  private static Optional<String> indigestiblePart(ClassElement type, Set<String> known) {
    if (type instanceof GenericPlaceholderElement
        || type.isPrimitive()
        || type.isEnum()
        || type.getName().equals(Object.class.getName())
        || PLAIN.stream().anyMatch(type::isAssignable)
        || type.isAssignable("io.micronaut.json.tree.JsonNode")) {
      return Optional.empty();
    }
    if (type.isArray()) {
      return indigestiblePart(type.fromArray(), known);
    }
    if (type.isAssignable(Iterable.class)
        || type.isAssignable(Map.class)
        || type.getName().equals(Optional.class.getName())) {
      Collection<ClassElement> parts = type.getTypeArguments().values();
      return type.isRawType() && !parts.isEmpty()
          ? Optional.of(type.getName() + " without its type parameters")
          : parts.stream().flatMap(part -> indigestiblePart(part, known).stream()).findFirst();
    }
    if (!type.hasStereotype(Introspected.class)) {
      return FOREIGN.stream().anyMatch(type.getName()::startsWith)
          ? Optional.of(type.getName())
          : Optional.empty();
    }
    return known.add(type.getName())
        ? type.getBeanProperties().stream()
            .filter(property -> !property.isWriteOnly())
            .map(PropertyElement::getGenericType)
            .flatMap(part -> indigestiblePart(part, known).stream())
            .findFirst()
        : Optional.empty();
  }
}
