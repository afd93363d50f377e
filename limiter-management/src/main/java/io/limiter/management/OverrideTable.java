// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.StateKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Keeps overrides, or other entries, at most {@value SubjectOverride#MAX_OVERRIDES}, each for its
 * time. No method blocks. A failure completes the stage with a {@link
 * io.limiter.core.StoreException}, and with an {@link IllegalStateException} if there is no room.
 *
 * @param <E> the entries
 */
interface OverrideTable<E extends OverrideTable.Entry<E>> {

  /**
   * What holds for a time.
   *
   * @param <E> its own type
   */
  interface Entry<E> {

    /** Identifies it in its table. */
    String tag();

    /** The text that is stored. */
    String text();

    /** The time for which it still holds. */
    Duration left();

    /** Returns this entry for another time. */
    E withLeft(Duration time);
  }

  /** Reads what {@link Entry#text} has written. */
  @FunctionalInterface
  interface Reader<E> {

    /**
     * @return empty if it is something else
     */
    Optional<E> read(String tag, String text, Duration left);
  }

  /** The tag of the subject of a state key in this table. */
  String tag(StateKey key);

  /** All entries that hold. */
  CompletionStage<List<E>> all();

  /**
   * Adds an entry, or replaces that with the same tag.
   *
   * @param entry its {@code left} is the time for which it is to hold
   * @return all entries that hold then
   */
  CompletionStage<List<E>> put(E entry);

  /**
   * Removes the entry with a tag, if there is one.
   *
   * @return all entries that hold then
   */
  CompletionStage<List<E>> remove(String tag);

  /** Checks the time for which an override is to hold. */
  static Duration requireTime(Duration time) {
    if (time.compareTo(SubjectOverride.MIN_TIME) < 0
        || time.compareTo(SubjectOverride.MAX_TIME) > 0) {
      throw new IllegalArgumentException("An override for %s: use 1 s to 7 days".formatted(time));
    }
    return time;
  }

  /** Entries of this process alone. */
  final class InMemory<E extends Entry<E>> implements OverrideTable<E> {

    private record Kept<E>(E entry, long endNanos) {}

    private final String entries;
    private final Map<String, Kept<E>> kept = new LinkedHashMap<>(); // guarded by this

    /**
     * @param entries what they are, for messages, such as {@code overrides}
     */
    InMemory(String entries) {
      this.entries = entries;
    }

    @Override
    public String tag(StateKey key) {
      return key.tag();
    }

    @Override
    public synchronized CompletionStage<List<E>> all() {
      long nowNanos = System.nanoTime();
      kept.values().removeIf(each -> each.endNanos - nowNanos <= 0);
      List<E> all = new ArrayList<>(kept.size());
      kept.forEach(
          (tag, each) -> all.add(each.entry.withLeft(Duration.ofNanos(each.endNanos - nowNanos))));
      return CompletableFuture.completedFuture(List.copyOf(all));
    }

    @Override
    public synchronized CompletionStage<List<E>> put(E entry) {
      var unused = all(); // forgets those that have ended
      if (kept.size() >= SubjectOverride.MAX_OVERRIDES && !kept.containsKey(entry.tag())) {
        return CompletableFuture.failedFuture(
            new IllegalStateException(
                "There are already %s %s: remove one that is not needed"
                    .formatted(SubjectOverride.MAX_OVERRIDES, entries)));
      }
      kept.put(entry.tag(), new Kept<>(entry, System.nanoTime() + entry.left().toNanos()));
      return all();
    }

    @Override
    public synchronized CompletionStage<List<E>> remove(String tag) {
      kept.remove(tag);
      return all();
    }
  }
}
