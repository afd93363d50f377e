// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.override;

import io.limiter.core.StateKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Keeps overrides, at most {@value SubjectOverride#MAX_OVERRIDES}, each for its time. No method
 * blocks. A failure completes the stage with a {@link io.limiter.core.StoreException}, and with an
 * {@link IllegalStateException} if there is no room.
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

  /** Checks the time for which an override is to hold. */
  static Duration requireTime(Duration time) {
    if (time.compareTo(SubjectOverride.MIN_TIME) < 0
        || time.compareTo(SubjectOverride.MAX_TIME) > 0) {
      throw new IllegalArgumentException("An override for %s: use 1 s to 7 days".formatted(time));
    }
    return time;
  }

  /** Overrides of this process alone. */
  final class InMemory implements OverrideTable {

    private record Kept(SubjectOverride override, long endNanos) {}

    private final Map<String, Kept> kept = new LinkedHashMap<>(); // guarded by this

    @Override
    public String tag(StateKey key) {
      return key.tag();
    }

    @Override
    public synchronized CompletionStage<List<SubjectOverride>> all() {
      long nowNanos = System.nanoTime();
      kept.values().removeIf(each -> each.endNanos - nowNanos <= 0);
      List<SubjectOverride> all = new ArrayList<>(kept.size());
      kept.forEach(
          (tag, each) ->
              all.add(each.override.withLeft(Duration.ofNanos(each.endNanos - nowNanos))));
      return CompletableFuture.completedFuture(List.copyOf(all));
    }

    @Override
    public synchronized CompletionStage<List<SubjectOverride>> put(SubjectOverride override) {
      var unused = all(); // forgets those that have ended
      if (kept.size() >= SubjectOverride.MAX_OVERRIDES && !kept.containsKey(override.tag())) {
        return CompletableFuture.failedFuture(
            new IllegalStateException(
                "There are already %s overrides: remove one that is not needed"
                    .formatted(SubjectOverride.MAX_OVERRIDES)));
      }
      kept.put(override.tag(), new Kept(override, System.nanoTime() + override.left().toNanos()));
      return all();
    }

    @Override
    public synchronized CompletionStage<List<SubjectOverride>> remove(String tag) {
      kept.remove(tag);
      return all();
    }
  }
}
