// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.RedisFailures;

/**
 * A call about several keys has not run because their slot is migrating: Redis decides about
 * several keys at once only if all of them exist on one side. They have to be asked one by one.
 */
public final class SlotMoving extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private SlotMoving() {
    super("a slot is migrating", null, false, false);
  }

  static StoreException failure() {
    return new StoreException(
        FailureReason.ERROR, "Redis answered with the error TRYAGAIN", new SlotMoving());
  }

  public static boolean is(Throwable failure) {
    return RedisFailures.unwrap(failure).getCause() instanceof SlotMoving;
  }
}
