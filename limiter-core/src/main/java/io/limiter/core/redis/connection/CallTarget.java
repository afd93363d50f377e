// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A node to which a call is sent.
 *
 * @param node its name in messages
 * @param period receives the end of the call, before the caller does
 * @param demoted runs if the node is no longer a primary
 */
public record CallTarget(
    String node,
    Breaker.Period period,
    Runnable demoted,
    RedisClusterAsyncCommands<byte[], byte[]> commands) {

  /** Supplies the commands of a node, after its breaker has admitted the call. */
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
      throw breaker.rejection();
    }
    try {
      return new CallTarget(node.name(), period, node::renew, commands.get());
    } catch (StoreException disconnected) {
      period.unconnected(disconnected);
      throw disconnected;
    }
  }

  /** Where a call continues after a reply that redirects it. */
  public interface Redirects {

    /** Every reply is the call's result. */
    Redirects NONE = failure -> null;

    /**
     * Returns null if the failure is the call's result; otherwise the failure proves that nothing
     * ran. The stage may fail with a {@link StoreException}.
     */
    @Nullable CompletionStage<CallTarget> after(Throwable failure);
  }
}
