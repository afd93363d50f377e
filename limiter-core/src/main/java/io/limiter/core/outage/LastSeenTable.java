// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.util.RotatingSearch;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What this instance knows about subjects: the store's last verdict on each, which includes the use
 * by all instances; the calls on their way to the store; and what the fallback has admitted since.
 * The fallback continues from it, and the store receives the units that it missed.
 *
 * <p>Bounded: while {@code size} keys are known, no further ones are added, and for those the
 * fallback starts with nothing used. A key is known as long as any of its rules requires; each
 * further key then inspects a few of the known ones, and removes those that have expired.
 */
final class LastSeenTable {

  private static final @Nullable LastSeen[] NONE = {};

  private final int size;
  private final LongSupplier nanos;
  private final ConcurrentMap<StateKey, LastSeen> subjects = new ConcurrentHashMap<>();
  private final RotatingSearch<LastSeen> expired = new RotatingSearch<>(subjects);

  /**
   * @param size the most keys
   * @param nanos a monotonic clock in nanoseconds
   */
  LastSeenTable(int size, LongSupplier nanos) {
    this.size = size;
    this.nanos = nanos;
  }

  /** A call that goes to the store now, under a fallback that counts. */
  ContinuedCall call(LimitRequest request) {
    @Nullable LastSeen[] known = new LastSeen[request.size()];
    for (int c = 0; c < known.length; c++) {
      Charge charge = request.charge(c);
      known[c] = charge.stack().permitDuration().isPresent() ? null : of(charge.key());
    }
    return new ContinuedCall(request, known, nanos);
  }

  /** A call that goes to the store now, under a fallback that counts nothing. */
  ContinuedCall uncounted(LimitRequest request) {
    return new ContinuedCall(request, NONE, nanos);
  }

  private @Nullable LastSeen of(StateKey key) {
    LastSeen known = subjects.get(key);
    if (known != null) {
      return known;
    }
    return hasRoom() ? subjects.computeIfAbsent(key, unknown -> new LastSeen()) : null;
  }

  private boolean hasRoom() {
    if (subjects.size() < size) {
      return true;
    }
    long nowNanos = nanos.getAsLong();
    expired.removeSome(known -> known.forgetIfExpired(nowNanos));
    return subjects.size() < size;
  }

  /** Discards the knowledge about these keys. */
  void forget(Collection<StateKey> keys) {
    for (StateKey key : keys) {
      LastSeen known = subjects.remove(key);
      if (known != null) {
        known.forget();
      }
    }
  }

  /** Discards what is known about bans under these keys. */
  void liftBans(Collection<StateKey> keys) {
    for (StateKey key : keys) {
      LastSeen known = subjects.get(key);
      if (known != null) {
        known.liftBan();
      }
    }
  }
}
