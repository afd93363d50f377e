// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.limiter.core.Charge;
import io.limiter.micronaut.exception.InvalidCallException.InvalidCostException;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.micronaut.context.exceptions.ExpressionEvaluationException;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.annotation.Internal;
import io.micronaut.inject.annotation.EvaluatedAnnotationValue;
import io.micronaut.json.tree.JsonNode;
import java.math.BigDecimal;
import java.net.URI;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * An expression over the arguments of a method, as a member of an annotation. The compiler has
 * checked its names and types. Two expressions are equal if their texts are, since they are on the
 * same method.
 */
@Internal
public final class CallExpression {

  /** The method of every expression class that Micronaut's compiler generates. */
  private static final String EVALUATION = "doEvaluate";

  /** The most zeros that a number is written with, rather than with an exponent. */
  private static final int MAX_PLAIN = 32;

  private static final String COST_BOUNDS =
      "it must be a whole number from 1 to " + Charge.MAX_COST;

  private final String where;
  private final String text;
  private final EvaluatedAnnotationValue<?> annotation;
  private final String member;
  private final Optional<Set<Integer>> head;
  private final AtomicBoolean reported = new AtomicBoolean();

  /**
   * @param where the method and the annotation, for messages
   * @param text the expression as written
   * @param annotation the annotation with the expression, from the method's metadata
   * @param member the member with the expression
   * @param head the positions of its arguments, if the head of a request determines it
   * @throws IllegalStateException if the annotation was not read from a method's metadata
   */
  public CallExpression(
      String where,
      String text,
      AnnotationValue<?> annotation,
      String member,
      Optional<Set<Integer>> head) {
    if (!(annotation instanceof EvaluatedAnnotationValue<?> evaluated)) {
      throw new IllegalStateException(
          "%s cannot be evaluated: it was not read from the metadata of a method".formatted(text));
    }
    this.where = where;
    this.text = text;
    this.annotation = evaluated;
    this.member = member;
    this.head = head;
  }

  /** The positions of its arguments, if the head of a request determines it; else empty. */
  public Optional<Set<Integer>> head() {
    return head;
  }

  /** Whether it needs arguments that are bound after the gate. */
  public boolean needsArguments() {
    return head.isEmpty();
  }

  /**
   * The text of its value for this call. Texts are equal exactly if the values are.
   *
   * @param target the bean that is called; null if the head determines the value
   * @throws MissingSubjectException if the value is missing or unusable
   * @throws RuntimeException the exception that the application's code threw, if the expression
   *     calls such code
   * @throws IllegalStateException if the value is an object whose text may differ from call to call
   */
  public String evaluate(@Nullable Object target, @Nullable Object[] arguments) {
    Optional<?> value;
    try {
      value = value(target, arguments);
    } catch (ExpressionEvaluationException e) {
      throw failed(e);
    }
    return text(
        value.orElseThrow(() -> missing("the expression is null: the call must provide a value")));
  }

  /**
   * Whether its value for this call is true.
   *
   * @throws IllegalStateException if it is neither true nor false
   * @throws RuntimeException if it fails
   */
  public boolean isTrue(@Nullable Object target, @Nullable Object[] arguments) {
    Object value = value(target, arguments).orElse(null);
    if (value instanceof Boolean truth) {
      return truth;
    }
    throw new IllegalStateException(
        mistake("the expression gives %s: it must be true or false".formatted(kind(value))));
  }

  /**
   * Its value for this call, as a cost in units.
   *
   * @param target the bean that is called; null if the head determines the value
   * @throws InvalidCostException if the value is not a whole number from 1 to {@value
   *     Charge#MAX_COST}. The value comes from the client, which must not be able to lower its cost
   */
  public int units(@Nullable Object target, @Nullable Object[] arguments) {
    Object value;
    try {
      value = value(target, arguments).orElse(null);
    } catch (ExpressionEvaluationException e) {
      throw new InvalidCostException(mistake(mistakeOf(e)));
    }
    if (!(value instanceof Number number)) {
      throw new InvalidCostException(
          mistake("the expression gives %s: %s".formatted(kind(value), COST_BOUNDS)));
    }
    BigDecimal units = exact(number);
    if (units == null
        || units.signum() < 1
        || units.compareTo(BigDecimal.valueOf(Charge.MAX_COST)) > 0
        || units.stripTrailingZeros().scale() > 0) {
      throw new InvalidCostException(
          mistake("the expression gives a number out of range: " + COST_BOUNDS));
    }
    return units.intValue();
  }

  /**
   * The exact value; null if it is not finite. A client may send a number of any length, so it is
   * never expanded.
   */
  private static @Nullable BigDecimal exact(Number number) {
    try {
      return new BigDecimal(number.toString());
    } catch (NumberFormatException notFinite) {
      return null;
    }
  }

  /**
   * Its value for this call; empty if it is null.
   *
   * @throws ExpressionEvaluationException if it fails
   */
  Optional<?> value(@Nullable Object target, @Nullable Object[] arguments) {
    return annotation
        .withArguments(target, arguments)
        .get(member, Object.class)
        .flatMap(CallExpression::unwrapped);
  }

  /**
   * An expression fails because of the call's arguments, or because the application's code that it
   * calls failed. The latter exception is propagated unchanged, as if the method itself had thrown
   * it.
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
        : new IllegalStateException(
            mistake("the code that the expression calls has failed"), cause);
  }

  /** The type of the failure without its message, which may quote the client's input. */
  static String mistakeOf(ExpressionEvaluationException failure) {
    Throwable cause = failure.getCause() == null ? failure : failure.getCause();
    return "the expression failed (" + cause.getClass().getName() + ")";
  }

  /** Whether the failure comes from code of the application, not from the evaluation itself. */
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

  /**
   * The plain value: an untyped body has texts and numbers in nodes, and an optional argument may
   * be empty.
   */
  private static Optional<?> unwrapped(Object value) {
    if (value instanceof Optional<?> optional) {
      return optional;
    }
    return value instanceof JsonNode node && node.isValueNode()
        ? Optional.ofNullable(node.getValue())
        : Optional.of(value);
  }

  private static String kind(@Nullable Object value) {
    return value == null ? "null" : "a " + value.getClass().getName();
  }

  private String text(Object value) {
    if (value instanceof Map || value instanceof Iterable || value instanceof JsonNode) {
      // In an untyped body the client chose to send a structure: a bad request, not an error of the
      // application.
      String mistake = "the expression gives a structure: it must be a text or a number";
      if (reported.compareAndSet(false, true)) {
        // Not a field, since the compiler uses this class, mostly without a provider of SLF4J.
        LoggerFactory.getLogger(CallExpression.class)
            .warn("{}, so the call is a bad request, as are further ones", mistake(mistake));
      }
      throw missing(mistake);
    }
    if (!isPlain(value.getClass())) {
      throw new IllegalStateException(
          mistake(
              "the expression gives %s, whose text may differ from call to call: it must be a text or a number"
                  .formatted(kind(value))));
    }
    String plain = plain(value);
    if (plain.isBlank()) {
      throw missing("the expression is empty: the call must provide a value");
    }
    return plain;
  }

  /**
   * The text of a value, as {@link #evaluate} gives it for a call with this value.
   *
   * @throws IllegalArgumentException if it is neither a text nor a number, nor another plain value
   */
  public static String textOf(Object value) {
    if (!isPlain(value.getClass())) {
      throw new IllegalArgumentException(
          "A subject is a text or a number, but the value is a %s: pass the value of the expression"
              .formatted(value.getClass().getName()));
    }
    return plain(value);
  }

  /** Whether the text of a value of this type represents the whole value. */
  public static boolean isPlain(Class<?> type) {
    return type.isPrimitive()
        || type == Boolean.class
        || type == Character.class
        || Enum.class.isAssignableFrom(type) // a constant may have a class of its own
        || CharSequence.class.isAssignableFrom(type)
        || Number.class.isAssignableFrom(type)
        || TemporalAccessor.class.isAssignableFrom(type)
        || TemporalAmount.class.isAssignableFrom(type)
        || type == UUID.class
        || type == URI.class
        || type == Locale.class;
  }

  private static String plain(Object value) {
    if (value instanceof Number number) {
      return numberText(number);
    }
    return value instanceof Enum<?> constant ? constant.name() : value.toString();
  }

  /**
   * The canonical text of a number: 100, 100.0 and 1e2 have the same text, 100. A client may send
   * any number, including 1e400 or an arbitrarily large exponent.
   */
  private static String numberText(Number number) {
    String written = number.toString();
    try {
      BigDecimal shortest = new BigDecimal(written).stripTrailingZeros();
      return Math.abs((long) shortest.scale()) <= MAX_PLAIN
          ? shortest.toPlainString()
          : shortest.toString();
    } catch (ArithmeticException | NumberFormatException tooLongOrNotFinite) {
      return written;
    }
  }

  private MissingSubjectException missing(String remedy) {
    return new MissingSubjectException(mistake(remedy));
  }

  /** The message of a mistake, with the place of the expression. */
  public String mistake(String remedy) {
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
