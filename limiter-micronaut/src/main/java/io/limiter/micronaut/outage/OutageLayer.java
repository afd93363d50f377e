// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.outage;

import io.limiter.core.FailureReason;
import io.limiter.core.LimitStore;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.store.StoreListener;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.MemoryConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.RedisConfiguration;
import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.redis.StoreChain;
import io.limiter.micronaut.redis.StoreLayer;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.annotation.Factory;
import io.micronaut.core.annotation.Order;
import jakarta.inject.Singleton;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.slf4j.LoggerFactory;

/** Puts the fallback in front of Redis, and shows how often it has decided. */
@Singleton
@Order(300)
record OutageLayer(
    StoreChain chain,
    FallbackCounts counts,
    LimiterConfiguration limiter,
    MemoryConfiguration memory,
    PoliciesConfiguration policies,
    RedisConfiguration redis,
    List<StoreListener> listeners,
    BeanProvider<ConnectionSource> connections)
    implements StoreLayer, EndpointPart {

  /** Calls wait for the end of the first attempt to connect, for a bounded time. */
  @Override
  public LimitStore around(LimitStore store) {
    return new FallbackStore(
            store,
            chain.inMemory(),
            policies.fallbacks(limiter.fallback()),
            counts,
            memory.maxSubjects(),
            System::nanoTime,
            listeners,
            LoggerFactory.getLogger(FallbackStore.class))
        .whileConnecting(connections.get().firstAttempt(), redis.startTimeout());
  }

  /** The number of decisions by fallbacks since the start, by reason. */
  @Override
  public void health(Map<String, Object> details) {
    Map<FailureReason, Long> fallbacks = new LinkedHashMap<>();
    for (FailureReason reason : FailureReason.values()) {
      fallbacks.put(reason, counts.of(reason));
    }
    details.put("fallbacks", fallbacks);
  }

  @Override
  public void meters(Meters meters) {
    for (FailureReason reason : FailureReason.values()) {
      String tag = reason.name().toLowerCase(Locale.ROOT);
      meters.count(
          "limiter.fallback", "Decisions of the fallback", () -> counts.of(reason), "reason", tag);
    }
    meters.count(
        "limiter.process.late",
        "Decisions that failed because this process was late, not the store",
        () -> counts.of(FailureReason.PROCESS_LATE));
  }

  /** Reports how often a fallback decided. */
  @Factory
  static final class Counts {

    @Singleton
    FallbackCounts counts() {
      return new FallbackCounts();
    }
  }
}
