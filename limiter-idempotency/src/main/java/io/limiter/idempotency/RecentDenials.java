// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Owners of keys that limits have denied, and until when they would. A table of fixed size: where
 * two owners meet, the later one stays, and the other costs a claim more. Thread-safe.
 */
final class RecentDenials {

  private static final int SLOTS = 1 << 12;
  private static final long LONGEST_NANOS = Duration.ofMinutes(1).toNanos();

  private final AtomicReferenceArray<@Nullable Denied> slots = new AtomicReferenceArray<>(SLOTS);
  private final LongSupplier nanos;

  RecentDenials(LongSupplier nanos) {
    this.nanos = nanos;
  }

  private record Denied(String owner, long until) {}

  /**
   * @param time for how long the denial holds
   */
  void add(String owner, Duration time) {
    long left =
        time.compareTo(Duration.ofNanos(LONGEST_NANOS)) > 0 ? LONGEST_NANOS : time.toNanos();
    slots.set(slot(owner), new Denied(owner, nanos.getAsLong() + left));
  }

  boolean has(String owner) {
    Denied denied = slots.get(slot(owner));
    return denied != null && denied.owner.equals(owner) && denied.until - nanos.getAsLong() > 0;
  }

  /** Names of owners are hashes. */
  private static int slot(String owner) {
    int hash = owner.hashCode();
    return (hash ^ (hash >>> 16)) & (SLOTS - 1);
  }
}
