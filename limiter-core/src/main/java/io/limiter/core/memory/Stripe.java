// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.StateKey;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A part of the keys, with the lock that guards it.
 *
 * <p>Live logs are never evicted for new ones: otherwise a denied caller could get a fresh log by a
 * flood of invented subjects. When a stripe is full of live logs, new subjects share the overflow,
 * one log for each limit key, until others expire: they are limited together.
 */
final class Stripe extends ReentrantLock {

  private static final long serialVersionUID = 1L;

  /**
   * The most limit keys in the overflow of one stripe; further ones share one log for each charge
   * of a call.
   */
  private static final int MAX_OVERFLOWS = 64;

  final transient LogTable subjects;
  final transient LogTable overflows;

  Stripe(int capacity, long graceMicros) {
    subjects = new LogTable(capacity, graceMicros);
    overflows = new LogTable(MAX_OVERFLOWS, graceMicros);
  }

  /**
   * The key of the overflow for a charge that may not have a log of its own; one for each class of
   * calls that may be counted.
   */
  StateKey overflow(Charge charge, int index, long clockMicros) {
    String kind = index + "." + charge.key().name();
    StateKey key = new StateKey("overflow." + kind, charge.limit());
    return overflows.find(key, clockMicros) != null || !overflows.full()
        ? key
        : new StateKey("rest." + kind, "");
  }
}
