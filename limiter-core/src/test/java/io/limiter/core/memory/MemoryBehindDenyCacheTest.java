// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Completion;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStoreContract;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.denycache.DenyCache;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import org.junit.jupiter.api.Tag;

/**
 * The guarantees of a store hold with the cache in front, except for units that are given back and
 * a clock that is set back: these are detected when the store is asked next, which is at once here.
 */
@Tag("matrix")
class MemoryBehindDenyCacheTest implements LimitStoreContract {

  private long clock = 1_700_000_000_000_000L;
  private long nanos;
  private final MemoryStore store = new MemoryStore(1_000, () -> clock);
  private final DenyCache cache =
      new DenyCache(store, policy -> true, DenyCache.DEFAULT_SIZE, DenyCache.MAX_AGE, () -> nanos);

  @Override
  public LimitStore store() {
    return cache;
  }

  @Override
  public void advance(Duration duration) {
    clock += MICROSECONDS.convert(duration);
    nanos += Math.max(0, duration.toNanos()); // never set back
    if (duration.isNegative()) {
      cache.clear();
    }
  }

  @Override
  public Instant now() {
    return Instant.EPOCH.plus(clock, ChronoUnit.MICROS);
  }

  @Override
  public Optional<String> stored(StateKey key) {
    return store.dump(key);
  }

  @Override
  public long refund(Verdict verdict) {
    long units = LimitStoreContract.super.refund(verdict);
    cache.clear();
    return units;
  }

  @Override
  public long release(Verdict verdict) {
    long units = LimitStoreContract.super.release(verdict);
    cache.clear();
    return units;
  }

  @Override
  public long settle(Verdict verdict, Completion completion) {
    long units = LimitStoreContract.super.settle(verdict, completion);
    cache.clear();
    return units;
  }
}
