// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** The units of one call that the fallback has admitted, until they are reported to the store. */
final class UnreportedUnits {

  private final KnownSubjectTable all;
  private final LimitRequest request;
  private final @Nullable KnownSubject[] subjects;
  private final KnownSubject.@Nullable Pending[] pending;
  private final int[] remaining;

  UnreportedUnits(
      KnownSubjectTable all,
      LimitRequest request,
      @Nullable KnownSubject[] subjects,
      KnownSubject.@Nullable Pending[] pending) {
    this.all = all;
    this.request = request;
    this.subjects = subjects;
    this.pending = pending;
    this.remaining = new int[pending.length];
    for (int c = 0; c < remaining.length; c++) {
      remaining[c] = request.charge(c).cost();
    }
  }

  /** Removes units of each charge that need not be reported, as far as they are left. */
  synchronized void giveBack(ToIntFunction<Charge> units) {
    for (int c = 0; c < subjects.length; c++) {
      KnownSubject subject = subjects[c];
      KnownSubject.Pending from = pending[c];
      int some = Math.min(remaining[c], units.applyAsInt(request.charge(c)));
      if (subject != null && from != null && some > 0) {
        remaining[c] -= some;
        subject.giveBack(from, some, all);
      }
    }
  }
}
