// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongUnaryOperator;

/**
 * Which random inputs a test makes: the same each time, unless properties ask for others.
 *
 * <ul>
 *   <li>{@code -Dlimiter.inputs=10000000}: so many, in place of those that the build has time for
 *   <li>{@code -Dlimiter.seeds=random}: others each time, with a line that tells which; with a
 *       number, the seeds from that on
 *   <li>{@code -Dlimiter.seed=17}: what this seed makes and nothing else, as a failure names it
 * </ul>
 */
public final class Seeds {

  /** Short enough to be typed. */
  private static final long MOST = 1_000_000_000_000L;

  /** One for all tests of a run, so that one line tells it. */
  private static final long FIRST = first(System.getProperty("limiter.seeds", "0"));

  private Seeds() {}

  /**
   * Tests one seed after another.
   *
   * @param inputs at least so many, unless a property says otherwise
   * @param test is given a seed, and tells how many inputs that has made
   * @return how many there were
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
