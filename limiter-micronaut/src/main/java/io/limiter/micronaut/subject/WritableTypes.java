// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.definition.CallExpression;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.beans.exceptions.IntrospectionException;
import io.micronaut.core.type.Argument;
import io.micronaut.json.JsonMapper;
import io.micronaut.json.tree.JsonNode;
import io.micronaut.serde.ObjectMapper;
import io.micronaut.serde.SerdeIntrospections;
import io.micronaut.serde.SerdeRegistry;
import io.micronaut.serde.exceptions.SerdeException;
import jakarta.inject.Singleton;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/** The types that the application's JSON mapper can write, where that is known without a value. */
@Internal
@FunctionalInterface
public interface WritableTypes {

  /** The reason why values of this type cannot be written; empty if they can. */
  Optional<String> unwritablePart(Argument<?> argument);

  /**
   * The types that micronaut-serde can write: those that are {@code @Serdeable} or have their own
   * serializer. For other types serde throws when it has a value, which is at each call.
   */
  @Singleton
  @Requires(classes = SerdeRegistry.class, beans = SerdeRegistry.class)
  static final class SerdeTypes implements WritableTypes {

    private final SerdeRegistry registry;
    private final SerdeIntrospections introspections;
    private final boolean writes;

    SerdeTypes(SerdeRegistry registry, SerdeIntrospections introspections, JsonMapper mapper) {
      this.registry = registry;
      this.introspections = introspections;
      this.writes = mapper instanceof ObjectMapper; // serde may be present for another purpose
    }

    @Override
    public Optional<String> unwritablePart(Argument<?> argument) {
      Class<?> type = argument.getType();
      if (!writes || CallExpression.isPlain(type) || isKnownByValue(type)) {
        return Optional.empty();
      }
      if (type.isArray()) {
        return unwritablePart(Argument.of(type.getComponentType()));
      }
      if (Iterable.class.isAssignableFrom(type)
          || Map.class.isAssignableFrom(type)
          || type == Optional.class) {
        return Arrays.stream(argument.getTypeParameters())
            .flatMap(part -> unwritablePart(part).stream())
            .findFirst();
      }
      try {
        // Only types without their own serializer are written as objects, by their introspection.
        if (registry.findSerializer(argument)
            == registry.findSerializer(Argument.OBJECT_ARGUMENT)) {
          var unused = introspections.getSerializableIntrospection(argument);
        }
        return Optional.empty();
      } catch (SerdeException | IntrospectionException e) {
        return Optional.of(
            "%s, which micronaut-serde cannot write (%s)"
                .formatted(type.getName(), e.getMessage()));
      }
    }

    /** Whether only the value shows its type, or it is a tree. */
    private static boolean isKnownByValue(Class<?> type) {
      return type == Object.class
          || JsonNode.class.isAssignableFrom(type)
          || (Modifier.isAbstract(type.getModifiers())
              && !type.isArray()
              && !Iterable.class.isAssignableFrom(type)
              && !Map.class.isAssignableFrom(type));
    }
  }
}
