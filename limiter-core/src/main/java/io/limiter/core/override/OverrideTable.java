// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.override;

import io.limiter.core.StateKey;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * Where overrides are kept, at most {@value SubjectOverride#MAX_OVERRIDES}, each for its time. No
 * method blocks. A failure completes the stage with a {@link io.limiter.core.StoreException}, and
 * with an {@link IllegalStateException} if there is no room.
 */
public interface OverrideTable {

  /** The tag of the subject of a state key in this table. */
  String tag(StateKey key);

  /** All overrides that hold. */
  CompletionStage<List<SubjectOverride>> all();

  /**
   * Adds an override, or replaces that of the same subject.
   *
   * @param override its {@code left} is the time for which it is to hold
   * @return all overrides that hold then
   */
  CompletionStage<List<SubjectOverride>> put(SubjectOverride override);

  /**
   * Removes the override of a subject, if there is one.
   *
   * @return all overrides that hold then
   */
  CompletionStage<List<SubjectOverride>> remove(String tag);

  /** Overrides of this process alone. */
  static OverrideTable inMemory() {
    return new MemoryOverrides();
  }

  /** Checks the time for which an override is to hold. */
  static Duration requireTime(Duration time) {
    if (time.compareTo(SubjectOverride.MIN_TIME) < 0
        || time.compareTo(SubjectOverride.MAX_TIME) > 0) {
      throw new IllegalArgumentException(
          "An override for %s: give it 1 s to 7 days".formatted(time));
    }
    return time;
  }
}
