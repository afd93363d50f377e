// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.exception.MissingSubjectException;
import io.micronaut.context.exceptions.ExpressionEvaluationException;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.annotation.Internal;
import io.micronaut.inject.annotation.EvaluatedAnnotationValue;
import io.micronaut.json.tree.JsonNode;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An expression over the arguments of a method, where it stands in an annotation. The compiler has
 * checked its names and types. Two of them are equal if their texts are: they stand on one method.
 */
@Internal
public final class CallExpression {

  /** The method of every expression that Micronaut's compiler makes. */
  private static final String EVALUATION = "doEvaluate";

  private final String where;
  private final String text;
  private final EvaluatedAnnotationValue<?> annotation;
  private final String member;

  /**
   * @param where the method and the annotation, for messages
   * @param text the expression as it is written
   * @param annotation the annotation that holds it, as the method's metadata gives it
   * @param member the member that holds it
   * @throws IllegalStateException if the annotation was not read from a method's metadata
   */
  public CallExpression(String where, String text, AnnotationValue<?> annotation, String member) {
    if (!(annotation instanceof EvaluatedAnnotationValue<?> evaluated)) {
      throw new IllegalStateException(
          "%s cannot be evaluated: it was not read from the metadata of a method".formatted(text));
    }
    this.where = where;
    this.text = text;
    this.annotation = evaluated;
    this.member = member;
  }

  /**
   * The text of its value for this call. Equal values have equal texts, and only they.
   *
   * @param target the bean that is called
   * @throws MissingSubjectException if the call gives it no value, or one that cannot tell
   * @throws RuntimeException as the application's code has thrown it that the expression calls
   * @throws IllegalStateException if it gives an object whose text may differ from call to call
   */
  public String evaluate(Object target, @Nullable Object[] arguments) {
    Optional<?> value;
    try {
      value = value(target, arguments);
    } catch (ExpressionEvaluationException e) {
      throw failed(e);
    }
    return text(
        value.orElseThrow(() -> missing("the expression is null: the call must give it a value")));
  }

  /**
   * Its value for this call; empty if it is null.
   *
   * @throws ExpressionEvaluationException if it fails
   */
  Optional<?> value(Object target, @Nullable Object[] arguments) {
    return annotation
        .withArguments(target, arguments)
        .get(member, Object.class)
        .flatMap(CallExpression::unwrapped);
  }

  /**
   * An expression fails because of what the call lacks, or because the application's code that it
   * calls has failed: that goes on as it is, as if the method itself had thrown it.
   */
  private RuntimeException failed(ExpressionEvaluationException failure) {
    Throwable cause = failure.getCause();
    if (cause instanceof Error error) {
      throw error;
    }
    if (cause == null || !thrownByApplication(cause)) {
      return missing(mistakeOf(failure));
    }
    return cause instanceof RuntimeException thrown
        ? thrown
        : new IllegalStateException(mistake("what the expression calls has failed"), cause);
  }

  /** What has failed, without its message: that may quote what the caller sent. */
  static String mistakeOf(ExpressionEvaluationException failure) {
    Throwable cause = failure.getCause() == null ? failure : failure.getCause();
    return "the expression failed (" + cause.getClass().getName() + ")";
  }

  /** What an expression calls itself is Java's, or the application's. */
  private static boolean thrownByApplication(Throwable cause) {
    StackTraceElement called = null;
    for (StackTraceElement frame : cause.getStackTrace()) {
      if (frame.getMethodName().equals(EVALUATION)) {
        return called != null && !called.getClassName().startsWith("java.");
      }
      called = frame;
    }
    return false;
  }

  /** An untyped body has its texts and numbers in nodes, and an optional argument may be empty. */
  private static Optional<?> unwrapped(Object value) {
    if (value instanceof Optional<?> optional) {
      return optional;
    }
    return value instanceof JsonNode node && node.isValueNode()
        ? Optional.ofNullable(node.getValue())
        : Optional.of(value);
  }

  private String text(Object value) {
    if (value instanceof Map || value instanceof Iterable || value instanceof JsonNode) {
      // Within an untyped body it is the caller who chose to send a structure: no fault of ours.
      throw missing("the expression gives a structure: it must be a text or a number");
    }
    if (!DigestibleTypes.isPlain(value.getClass())) {
      throw new IllegalStateException(
          mistake(
              "the expression gives a %s, which may be another text at each call: let it give a text or a number"
                  .formatted(value.getClass().getName())));
    }
    String plain = plain(value);
    if (plain.isBlank()) {
      throw missing("the expression is empty: the call must give it a value");
    }
    return plain;
  }

  private static String plain(Object value) {
    if (value instanceof Number number) {
      return NumberText.of(number);
    }
    return value instanceof Enum<?> constant ? constant.name() : value.toString();
  }

  private MissingSubjectException missing(String remedy) {
    return new MissingSubjectException(mistake(remedy));
  }

  /** What is wrong, with where the expression stands. */
  String mistake(String remedy) {
    return "%s.%s: %s".formatted(where, member, remedy);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CallExpression that && text.equals(that.text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  @Override
  public String toString() {
    return text;
  }
}
