// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denycache;

import io.limiter.core.LimitStore;
import io.limiter.core.denycache.DenyCache;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.redis.StoreLayer;
import io.micronaut.core.annotation.Order;
import jakarta.inject.Singleton;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Caches denials by Redis, unless the settings exclude all. */
@Singleton
@Order(100)
final class DenyCacheLayer implements StoreLayer, EndpointPart {

  private final DenyCacheConfiguration settings;
  private final PoliciesConfiguration policies;

  /** Null without a cache. */
  private volatile @Nullable LongSupplier size;

  DenyCacheLayer(DenyCacheConfiguration settings, PoliciesConfiguration policies) {
    this.settings = settings;
    this.policies = policies;
  }

  @Override
  public LimitStore around(LimitStore store) {
    if (!settings.enabled()) {
      return store;
    }
    DenyCache cache =
        new DenyCache(store, policies::denyCache, settings.maxSize(), settings.maxAge());
    size = cache::remembered;
    return cache;
  }

  @Override
  public void meters(Meters meters) {
    LongSupplier entries = size;
    if (entries != null) {
      meters.gauge("limiter.deny.cache", "Entries of the deny cache", entries);
    }
  }
}
