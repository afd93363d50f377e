// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.LimitStore;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.memory.ShareStore;
import io.limiter.micronaut.config.LimiterConfiguration.MemoryConfiguration;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.core.annotation.Internal;
import jakarta.inject.Singleton;
import java.util.List;

/**
 * Composes the stores that decide calls: the {@linkplain StoreLayer layers}, each in front of the
 * next, then Redis, or memory. Those for any store also stand in front of one that replaces them.
 */
@Internal
@Singleton
public final class StoreChain implements BeanCreatedEventListener<LimitStore> {

  private final BeanContext context; // a listener is created before what the layers need

  StoreChain(BeanContext context) {
    this.context = context;
  }

  @Override
  public LimitStore onCreated(BeanCreatedEvent<LimitStore> created) {
    return with(true, created.getBean());
  }

  LimitStore overRedis(LimitStore redis) {
    return with(false, redis);
  }

  private LimitStore with(boolean any, LimitStore last) {
    List<StoreLayer> layers = List.copyOf(context.getBeansOfType(StoreLayer.class)); // in order
    LimitStore store = last;
    for (int l = layers.size() - 1; l >= 0; l--) {
      if (layers.get(l).isForAny() == any) {
        store = layers.get(l).around(store);
      }
    }
    return store;
  }

  /** Creates a store that decides without Redis, or as the fallback. */
  public LimitStore inMemory() {
    MemoryConfiguration memory = context.getBean(MemoryConfiguration.class);
    LimitStore store = new MemoryStore(memory.maxSubjects());
    return memory.instances() == 1 ? store : new ShareStore(store, memory.instances());
  }
}
