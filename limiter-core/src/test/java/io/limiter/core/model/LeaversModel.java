// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import java.math.BigInteger;
import java.util.Optional;

/**
 * The future departures of a {@link LeakyModel} that were given up, as one span from the first to
 * the last of them. Which departures of the span are free is unknown unless all are.
 */
final class LeaversModel {

  private final BigInteger interval;
  private BigInteger first = BigInteger.ZERO;
  private BigInteger last = BigInteger.ZERO;
  private long free;

  /**
   * @param interval between two departures
   */
  LeaversModel(BigInteger interval) {
    this.interval = interval;
  }

  /** What is left of them at a time: the free ones are assumed to be the earliest. */
  LeaversModel at(BigInteger time) {
    LeaversModel left = new LeaversModel(interval);
    left.first = first;
    left.last = last;
    left.free = free;
    while (left.free > 0 && left.first.compareTo(time) <= 0) {
      left.takeEarliest();
    }
    return left;
  }

  long free() {
    return free;
  }

  private boolean isKnown() {
    return free > 0 && length(first, last) == free;
  }

  private long length(BigInteger from, BigInteger to) {
    return to.subtract(from).divide(interval).longValueExact() + 1;
  }

  /** The earliest, if it is known to be free. */
  Optional<BigInteger> earliest() {
    return isKnown() ? Optional.of(first) : Optional.empty();
  }

  /** The earliest is handed out again, or has come. */
  void takeEarliest() {
    first = first.add(interval);
    free--;
  }

  /**
   * If the last departures before this one are known to be free: removes them, and returns the
   * first.
   */
  Optional<BigInteger> takeLast(BigInteger next) {
    if (!isKnown() || !last.add(interval).equals(next)) {
      return Optional.empty();
    }
    free = 0;
    return Optional.of(first);
  }

  /**
   * Adds consecutive departures that are given up. Returns false if some of them must be free
   * already.
   */
  boolean add(BigInteger from, BigInteger to) {
    BigInteger earliest = free == 0 ? from : first.min(from);
    BigInteger latest = free == 0 ? to : last.max(to);
    long all = free + length(from, to);
    if (all > length(earliest, latest)) {
      return false;
    }
    first = earliest;
    last = latest;
    free = all;
    return true;
  }
}
