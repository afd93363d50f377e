// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import java.util.function.LongSupplier;

/** Memory stores that never expire anything, like a Redis under test. */
public final class EverlastingMemory {

  private static final long NEVER_EXPIRE = Long.MAX_VALUE / 4;

  private EverlastingMemory() {}

  /**
   * @param clockMicros the clock
   */
  public static MemoryStore store(LongSupplier microseconds) {
    return new MemoryStore(10_000, microseconds, NEVER_EXPIRE);
  }
}
