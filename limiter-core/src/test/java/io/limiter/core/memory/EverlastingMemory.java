// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import java.util.function.LongSupplier;

/** Memory stores that never forget what has expired, as a Redis under test does not. */
public final class EverlastingMemory {

  private static final long NEVER_EXPIRE = Long.MAX_VALUE / 4;

  private EverlastingMemory() {}

  /**
   * @param microseconds the clock
   */
  public static MemoryStore store(LongSupplier microseconds) {
    return new MemoryStore(10_000, microseconds, NEVER_EXPIRE);
  }
}
