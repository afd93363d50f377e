// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.core.annotation.Internal;
import java.math.BigDecimal;

/** One text for one number, however it is written: 1, 1.0 and 1e0 are the same. */
@Internal
public final class NumberText {

  private NumberText() {}

  /**
   * The text of this number. A caller may send any: also 1e400, or an exponent beyond all bounds.
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
