// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.redis.connection.RedisFailures.Redirection;
import java.util.concurrent.CompletionStage;

/** Connections to the nodes of a Redis Cluster, each of which has the keys of some slots. */
public interface ClusterSource extends ConnectionSource {

  /** One node. */
  interface Primary extends ConnectionSource {

    /** The name of the node, also that of its breaker. */
    @Override
    String name();

    /**
     * The commands of an open connection, each preceded by ASKING.
     *
     * @throws StoreException with reason {@code DISCONNECTED} if there is none now
     */
    RedisClusterAsyncCommands<byte[], byte[]> asking();

    /** A call to it has failed, so another node may have its slots by now. Does not block. */
    void failed();
  }

  /**
   * The node that has a slot.
   *
   * @throws StoreException with reason {@code DISCONNECTED} if none is known
   */
  Primary node(int slot);

  /**
   * The node to which a call is redirected, once a connection to it has been tried.
   *
   * @param from the node that replied
   */
  CompletionStage<Primary> node(Redirection redirection, Primary from);
}
