// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.LimitStore;
import io.micronaut.core.annotation.Internal;

/**
 * A store in front of the store that decides. Each bean of this type takes part; {@link
 * io.micronaut.core.annotation.Order} places it: the lower stands in front of the higher. In front
 * of Redis these are the deny cache with 100, leases with 200, and the fallback with 300. Such a
 * bean must not need the {@link LimitStore}, which is created after it.
 */
@Internal
public interface StoreLayer {

  /** Puts it in front of a store. */
  LimitStore around(LimitStore store);

  /**
   * Whether it stands in front of any store, also of memory alone and of one of the application.
   * Otherwise it stands in front of Redis alone, behind those that stand in front of any.
   */
  default boolean isForAny() {
    return false;
  }
}
