// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.micronaut.context.annotation.Prototype;
import io.micronaut.core.annotation.Internal;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The names {@code status} and {@code result} in the expressions of {@link RateLimiter#countIf}.
 * Micronaut asks a bean of this type for their values, which are those of the call that the current
 * thread ends.
 */
@Internal
@Prototype
public final class CallAnswer {

  private record Values(int status, @Nullable Object result) {}

  private static final ThreadLocal<@Nullable Values> CURRENT = new ThreadLocal<>();

  CallAnswer() {}

  /** Evaluates an expression for a call with this answer. */
  public static boolean evaluate(int status, @Nullable Object result, BooleanSupplier expression) {
    CURRENT.set(new Values(status, result));
    try {
      return expression.getAsBoolean();
    } finally {
      CURRENT.remove();
    }
  }

  /** The status of the response. */
  public int getStatus() {
    Values values = CURRENT.get();
    return values == null ? 0 : values.status();
  }

  /** What the method returned. */
  public @Nullable Object getResult() {
    Values values = CURRENT.get();
    return values == null ? null : values.result();
  }
}
