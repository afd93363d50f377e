// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.micronaut.core.annotation.Internal;

/**
 * How many calls may be in flight at once, by what their latencies show. Any thread calls any
 * method; none blocks.
 */
@Internal
public interface InFlightLimit {

  /** The number now; 1 at least. */
  int now();

  /** What to hand to {@link #ended} later, for a call that begins now. */
  int begun(long nanos);

  /** A call found as many in flight as may be. */
  void full();

  /** Whether a call that took so long, in nanoseconds, says that the instance is slow. */
  default boolean isSlow(long latency) {
    return false;
  }

  /** How long a call takes, in nanoseconds, as far as that is known; a second at most. */
  default long usual() {
    return 10_000_000L;
  }

  /**
   * This process was late: what was due then ran only now. Calls are as late as that.
   *
   * @param nanos the time between
   */
  default void late(long nanos) {}

  /**
   * A call has ended in a way that says something about the instance.
   *
   * @param epoch what {@link #begun} gave it
   * @param latency in nanoseconds
   * @param inFlight the calls in flight, with this one
   * @param nanos the time now
   */
  void ended(int epoch, long latency, int inFlight, long nanos);
}
