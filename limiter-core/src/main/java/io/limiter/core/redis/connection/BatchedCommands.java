// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisFuture;
import io.limiter.core.redis.wire.DecisionBatching;

/** Commands of a connection on which decisions that meet share an EVALSHA. */
public interface BatchedCommands {

  /**
   * Sends a decision by the end of the current turn of the connection's event loop, together with
   * others that are sent in that turn; alone if there are none.
   */
  RedisFuture<byte[]> decide(DecisionBatching.Single decision);
}
