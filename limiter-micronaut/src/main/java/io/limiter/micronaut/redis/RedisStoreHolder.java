// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.redis.RedisStore;

/**
 * The last store of the {@link StoreChain}, for what else is in Redis. It is not a bean of type
 * {@code LimitStore}, since listeners that decorate such beans mean the store that decides.
 */
record RedisStoreHolder(RedisStore store) implements AutoCloseable {

  @Override
  public void close() {
    store.close();
  }
}
