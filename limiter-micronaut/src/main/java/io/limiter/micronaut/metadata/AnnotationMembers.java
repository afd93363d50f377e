// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.expressions.EvaluatedExpression;
import io.micronaut.core.naming.NameUtils;
import java.lang.annotation.Annotation;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The members of one annotation, and the errors about them. Metadata contains only the members that
 * were written, not defaults.
 *
 * @param method the method that the annotation applies to
 * @param name the annotation, as in {@code @RateLimiter}
 * @param annotation the annotation
 */
record AnnotationMembers(String method, String name, AnnotationValue<?> annotation) {

  boolean isOf(Class<? extends Annotation> type) {
    return annotation.getAnnotationName().equals(type.getName());
  }

  boolean has(String member) {
    return annotation.contains(member);
  }

  /** The raw value of a member: any other way of reading would evaluate an expression. */
  @Nullable Object raw(String member) {
    for (Map.Entry<CharSequence, Object> entry : annotation.getValues().entrySet()) {
      if (member.contentEquals(entry.getKey())) {
        return entry.getValue();
      }
    }
    return null;
  }

  /** Whether the member is a text that is not empty. */
  boolean hasText(String member) {
    Object raw = raw(member);
    return raw != null && !"".equals(raw);
  }

  /** The text of a member, if it is not empty. */
  Optional<String> text(String member) {
    if (raw(member) instanceof EvaluatedExpression) {
      throw error(
          member,
          "#{…}",
          "it is read once, when the service starts, and only subject, cost and the key of a duplicate may be expressions: write a text");
    }
    try {
      return annotation.stringValue(member).filter(text -> !text.isEmpty());
    } catch (ConfigurationException unresolved) {
      throw error(
          member,
          raw(member),
          "%s: set it, or give it a default, as in ${name:default}"
              .formatted(unresolved.getMessage()));
    }
  }

  boolean isTrue(String member) {
    return annotation.booleanValue(member).orElse(false);
  }

  boolean isFalse(String member) {
    return !annotation.booleanValue(member).orElse(true);
  }

  <E extends Enum<E>> Optional<E> constant(String member, Class<E> type) {
    return annotation.enumValue(member, type);
  }

  /** Rejects a member that has no effect in its place. */
  void reject(String member, String remedy) {
    if (has(member)) {
      Object raw = raw(member);
      Object value =
          raw instanceof int[] list
              ? Arrays.toString(list)
              : raw instanceof Object[] annotations ? written(annotations) : raw;
      throw error(member, value, remedy);
    }
  }

  /**
   * The annotation in a member that may have one at most.
   *
   * @param type the type of the annotation
   */
  <A extends Annotation> Optional<AnnotationMembers> nested(String member, Class<A> type) {
    List<AnnotationValue<A>> written = annotation.getAnnotations(member, type);
    if (written.size() > 1) {
      throw error(member, written(written.toArray()), "one is possible: remove the others");
    }
    return written.stream()
        .findFirst()
        .map(value -> new AnnotationMembers(method, name + '.' + member, value));
  }

  private static String written(Object[] annotations) {
    return Arrays.stream(annotations)
        .map(
            one ->
                one instanceof AnnotationValue<?> value
                    ? "@" + NameUtils.getSimpleName(value.getAnnotationName())
                    : one.toString())
        .collect(Collectors.joining(", "));
  }

  ConfigurationException error(String member, @Nullable Object value, String remedy) {
    return mistake(method, name + '.' + member, String.valueOf(value), remedy);
  }

  /** A mistake in an annotation: always the method, the member, its value and the remedy. */
  static ConfigurationException mistake(String method, String member, String value, String remedy) {
    return new ConfigurationException("%s: %s = %s: %s".formatted(method, member, value, remedy));
  }
}
