// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.core.annotation.Internal;
import java.math.BigDecimal;

/** The canonical text of a number: 1, 1.0 and 1e0 have the same text. */
@Internal
public final class NumberText {

  private NumberText() {}

  /**
   * The text of this number. A client may send any number, including 1e400 or an arbitrarily large
   * exponent.
   */
  public static String of(Number number) {
    String written = number.toString();
    try {
      return new BigDecimal(written).stripTrailingZeros().toString();
    } catch (NumberFormatException notFinite) {
      return written;
    } catch (ArithmeticException scaleOverflow) {
      return written;
    }
  }
}
