// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.Internal;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * A limited method, for the readers of annotations: at the start the method of a bean, at compile
 * time an element of the source.
 */
@Internal
public interface LimitedMethod {

  /** The type of the parameter that Kotlin adds to a suspending function. */
  String CONTINUATION = "kotlin.coroutines.Continuation";

  /** The class, the name and the parameter types, as in {@code com.shop.Orders.place(int)}. */
  String description();

  /** The name alone. */
  String name();

  /** Whether its bean is of the type with this name. */
  boolean isOf(String type);

  /** The annotations of the method and of its class, as a hierarchy if it has some of its own. */
  AnnotationMetadata annotations();

  /** Whether it is {@code toString}, {@code hashCode} or {@code equals}. */
  boolean isOfObject();

  /** Whether it answers requests. */
  boolean isRoute();

  /** What it returns, judged by its type. */
  ResultKind result();

  /** That type. */
  ResultKind.Type resultType();

  /** Whether one of its parameters takes the verdict on the call. */
  boolean takesVerdict();

  /**
   * The positions of an expression's arguments if the head of a request determines it, as far as is
   * known; else empty.
   */
  Optional<Set<Integer>> head(String expression);

  /** Its parameters, in order; empty if they are not known. */
  Optional<List<Parameter>> parameters();

  /** What the type of a parameter shows of the value, as a subject or a cost. */
  @Internal
  enum Value {
    NUMBER,
    /** A text, or what has one, but no number. */
    TEXT,
    /** Never a text or a number. */
    STRUCTURE,
    UNKNOWN;

    private static final List<String> STRUCTURES = List.of("java.util.Map", "java.lang.Iterable");
    private static final List<String> TEXTS =
        List.of("java.lang.CharSequence", "java.util.UUID", "java.lang.Boolean", "java.lang.Enum");

    /**
     * @param isA whether the type extends or implements another one, or is it
     */
    public static Value of(boolean array, Predicate<String> isA) {
      if (array || STRUCTURES.stream().anyMatch(isA)) {
        return STRUCTURE;
      }
      return isA.test("java.lang.Number") ? NUMBER : TEXTS.stream().anyMatch(isA) ? TEXT : UNKNOWN;
    }
  }

  /** A parameter, as a duplicate guard sees it. */
  @Internal
  interface Parameter {

    String name();

    /** Whether the caller provides the value; for a route, whether the request contains it. */
    boolean isFilled();

    /** Whether it is part of a submission: the verdict, for example, is not. */
    boolean isCompared();

    /** What its type shows of its value. */
    Value value();

    /** The part of it that cannot be compared, judging by its type; empty if there is none. */
    Optional<String> obstacle();
  }
}
