// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;

/**
 * One node that a call is sent to.
 *
 * @param node its name in messages
 * @param period is told how the call ends, before its caller is
 * @param demoted is told if the node is a primary no more
 */
public record CallTarget(
    String node,
    Breaker.Period period,
    Runnable demoted,
    RedisClusterAsyncCommands<byte[], byte[]> commands) {

  /** The commands of a node, looked up after its breaker has admitted the call. */
  public interface Commands {

    /**
     * @throws StoreException with reason {@code DISCONNECTED} if there is no connection now
     */
    RedisClusterAsyncCommands<byte[], byte[]> get();
  }

  /**
   * @throws StoreException if the breaker of the node is open, or it has no connection
   */
  public static CallTarget of(Breaker breaker, ConnectionSource node, Commands commands) {
    Breaker.Period period = breaker.admit();
    if (period == null) {
      throw breaker.refusal();
    }
    try {
      return new CallTarget(node.name(), period, node::renew, commands.get());
    } catch (StoreException disconnected) {
      period.undecided();
      throw disconnected;
    }
  }
}
