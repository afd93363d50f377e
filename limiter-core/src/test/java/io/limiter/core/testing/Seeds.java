// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongUnaryOperator;

/**
 * Selects the random inputs of a test: the same each time, unless properties select others.
 *
 * <ul>
 *   <li>{@code -Dlimiter.inputs=10000000}: this number of inputs, in place of the default of the
 *       build
 *   <li>{@code -Dlimiter.seeds=random}: other inputs each time, with a line that prints the seed;
 *       with a number, the seeds from that on
 *   <li>{@code -Dlimiter.seed=17}: the input of this seed only, as a failure prints it
 * </ul>
 */
public final class Seeds {

  /** Short enough to be typed. */
  private static final long MOST = 1_000_000_000_000L;

  /** One for all tests of a run, so that one line prints it. */
  private static final long FIRST = first(System.getProperty("limiter.seeds", "0"));

  private Seeds() {}

  /**
   * Tests one seed after another.
   *
   * @param inputs at least so many, unless a property sets another number
   * @param test takes a seed, and returns the number of inputs that it has made
   * @return the number of inputs
   */
  public static long forEach(long inputs, LongUnaryOperator test) {
    Long only = Long.getLong("limiter.seed");
    if (only != null) {
      return test.applyAsLong(only);
    }
    long wanted = Long.getLong("limiter.inputs", inputs);
    long done = 0;
    for (long seed = FIRST; done < wanted; seed++) {
      done += test.applyAsLong(seed);
    }
    return done;
  }

  private static long first(String seeds) {
    if (!seeds.equals("random")) {
      return Long.parseLong(seeds);
    }
    long first = ThreadLocalRandom.current().nextLong(MOST);
    System.out.printf("Random inputs: again with -Dlimiter.seeds=%d%n", first);
    return first;
  }
}
