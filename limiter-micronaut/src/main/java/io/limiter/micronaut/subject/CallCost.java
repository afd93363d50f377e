// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.core.Charge;
import io.limiter.micronaut.exception.InvalidCallException.InvalidCostException;
import io.micronaut.context.exceptions.ExpressionEvaluationException;
import io.micronaut.core.annotation.Internal;
import java.math.BigDecimal;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/**
 * The cost of a call, as an expression over its arguments. Two costs are equal if their texts are,
 * since they are on the same method.
 */
@Internal
public record CallCost(CallExpression expression) {

  private static final String BOUNDS = "it must be a whole number from 1 to " + Charge.MAX_COST;

  /**
   * The cost of this call in units.
   *
   * @param target the bean that is called
   * @throws InvalidCostException if the value is not a whole number from 1 to {@value
   *     Charge#MAX_COST}. The value comes from the client, which must not be able to lower its cost
   */
  public int of(Object target, @Nullable Object[] arguments) {
    Object value;
    try {
      value = expression.value(target, arguments).orElse(null);
    } catch (ExpressionEvaluationException e) {
      throw invalid(CallExpression.mistakeOf(e));
    }
    if (!(value instanceof Number number)) {
      throw invalid(
          "the expression gives %s: %s"
              .formatted(value == null ? "null" : "a " + value.getClass().getName(), BOUNDS));
    }
    BigDecimal units = exact(number);
    if (units == null
        || units.signum() < 1
        || units.compareTo(BigDecimal.valueOf(Charge.MAX_COST)) > 0
        || units.stripTrailingZeros().scale() > 0) {
      throw invalid("the expression gives a number out of range: " + BOUNDS);
    }
    return units.intValue();
  }

  /**
   * The exact value; null if it is not finite. A client may send a number of any length, so it is
   * never expanded.
   */
  private static @Nullable BigDecimal exact(Number number) {
    if (number instanceof BigDecimal decimal) {
      return decimal;
    }
    if (number instanceof BigInteger whole) {
      return new BigDecimal(whole);
    }
    try {
      return new BigDecimal(number.toString());
    } catch (NumberFormatException notFinite) {
      return null;
    }
  }

  private InvalidCostException invalid(String why) {
    return new InvalidCostException(expression.mistake(why));
  }

  @Override
  public String toString() {
    return expression.toString();
  }
}
