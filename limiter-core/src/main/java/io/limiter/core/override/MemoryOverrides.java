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

/** Overrides of one process. */
final class MemoryOverrides implements OverrideTable {

  private record Kept(SubjectOverride override, long endNanos) {}

  private final Map<String, Kept> kept = new LinkedHashMap<>(); // guarded by this

  @Override
  public String tag(StateKey key) {
    return key.tag();
  }

  @Override
  public synchronized CompletionStage<List<SubjectOverride>> all() {
    long now = System.nanoTime();
    kept.values().removeIf(each -> each.endNanos - now <= 0);
    List<SubjectOverride> all = new ArrayList<>(kept.size());
    kept.forEach(
        (tag, each) -> all.add(each.override.withLeft(Duration.ofNanos(each.endNanos - now))));
    return CompletableFuture.completedFuture(List.copyOf(all));
  }

  @Override
  public synchronized CompletionStage<List<SubjectOverride>> put(SubjectOverride override) {
    var unused = all(); // forgets those that have ended
    if (kept.size() >= SubjectOverride.MAX_OVERRIDES && !kept.containsKey(override.tag())) {
      return CompletableFuture.failedFuture(
          new IllegalStateException(
              "There are 1000 overrides already: remove one that is not needed"));
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
