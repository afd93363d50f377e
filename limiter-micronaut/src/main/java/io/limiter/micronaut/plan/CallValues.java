// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Subject;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.List;
import java.util.Optional;

/**
 * What a plan reads of one call. The defaults are for a call whose arguments are not known: a plan
 * that {@linkplain LimitPlan#decidedByRequest needs only the request} asks for none.
 */
@Internal
public interface CallValues {

  /**
   * The subject that a source gives this call.
   *
   * @throws RuntimeException if it has none, or if code of the application fails
   */
  Subject subject(SubjectSource source);

  /** The request in whose name the call is made; empty outside of any request. */
  Optional<HttpRequest<?>> request();

  /**
   * The request in whose name the call is made, for what needs one.
   *
   * @param what what needs it, for the message
   * @param remedy what to use outside of requests, for the message
   * @throws IllegalStateException if the call is made outside of any request
   */
  HttpRequest<?> requestFor(String what, String remedy);

  /** Whether an expression over the arguments is true. */
  default boolean isTrue(CallExpression condition) {
    throw new IllegalStateException("The arguments of this call are not known: " + condition);
  }

  /** The text of an expression over the arguments. */
  default String text(CallExpression expression) {
    throw new IllegalStateException("The arguments of this call are not known: " + expression);
  }

  /** The value of an expression over the arguments, as units. */
  default int units(CallExpression cost) {
    throw new IllegalStateException("The arguments of this call are not known: " + cost);
  }

  /**
   * A digest of some of the arguments; empty if they cannot be written as JSON.
   *
   * @param positions which of the arguments, from 0
   */
  default Optional<String> digest(List<Integer> positions) {
    throw new IllegalStateException("The arguments of this call are not known: " + positions);
  }
}
