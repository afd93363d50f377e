// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.lease.LeaseStore;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.resilience.DenyCache;
import io.limiter.core.resilience.Fallback;
import io.limiter.core.resilience.FallbackCounts;
import io.limiter.core.resilience.FallbackStore;
import io.limiter.core.resilience.FallbackStore.StoreListener;
import io.limiter.core.resilience.ShareStore;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.store.LimitStore;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.DenyCacheConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.MemoryConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.NOPLogger;

/**
 * Composes the stores that decide calls, each in front of the next: deny cache → leases → fallback
 * → Redis, or memory. A module puts a store in front of all of them, or of one that replaces them,
 * by a {@link io.micronaut.context.event.BeanCreatedEventListener} of the {@link LimitStore}.
 */
@Singleton
record StoreChain(
    LimiterConfiguration limiter,
    MemoryConfiguration memory,
    PoliciesConfiguration policies,
    DenyCacheConfiguration denials,
    FallbackCounts counts,
    List<StoreListener> listeners) {

  /**
   * @param firstAttempt calls wait for its end, at most for {@code longest}
   */
  LimitStore overRedis(LimitStore redis, CompletionStage<?> firstAttempt, Duration longest) {
    LeaseStore leases =
        new LeaseStore(
            new FallbackStore(
                    redis,
                    inMemory(),
                    policies.fallbacks(limiter.fallback()),
                    counts,
                    memory.maxSubjects(),
                    System::nanoTime,
                    listeners,
                    LoggerFactory.getLogger(FallbackStore.class))
                .whileConnecting(firstAttempt, longest));
    listeners.forEach(listener -> listener.leased(leases::units));
    return cached(leases, listeners);
  }

  /**
   * Creates a separate chain for the warm-up, with its own caches and counters and without a log.
   */
  LimitStore forWarmUp(LimitStore redis) {
    return cached(
        new FallbackStore(
            redis,
            new MemoryStore(),
            policy -> Fallback.LOCAL,
            new FallbackCounts(),
            memory.maxSubjects(),
            System::nanoTime,
            List.of(),
            NOPLogger.NOP_LOGGER),
        List.of());
  }

  private LimitStore cached(LimitStore store, List<StoreListener> cacheListeners) {
    if (!denials.enabled()) {
      return store;
    }
    DenyCache cache =
        new DenyCache(store, policies::denyCache, denials.maxSize(), denials.maxAge());
    cacheListeners.forEach(listener -> listener.cached(cache::remembered));
    return cache;
  }

  /** The store that decides without Redis, and the fallback. */
  LimitStore inMemory() {
    LimitStore store = new MemoryStore(memory.maxSubjects());
    return new UnclosedStore(
        memory.instances() == 1 ? store : new ShareStore(store, memory.instances()));
  }

  /**
   * A memory store that is not closed with its context: the server still serves for a moment, and
   * its pending calls must be decided. The store holds no resources except memory.
   */
  private static final class UnclosedStore extends DelegatingStore {

    UnclosedStore(LimitStore memory) {
      super(memory);
    }

    @Override
    public void close() {}
  }
}
