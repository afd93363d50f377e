// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.redis.connection.Redirection;
import java.util.concurrent.CompletionStage;

/** Connections to the nodes of a Redis Cluster, each of which has the keys of some slots. */
public interface ClusterSource extends ConnectionSource {

  /** One node. */
  interface Primary extends ConnectionSource {

    /** Its breaker bears it too. */
    @Override
    String name();

    /**
     * The commands of an open connection, each of them behind an ASKING.
     *
     * @throws StoreException with reason {@code DISCONNECTED} if there is none now
     */
    RedisClusterAsyncCommands<byte[], byte[]> asking();

    /** A call to it has failed, so another node may have its slots by now. Does not wait. */
    void failed();
  }

  /**
   * The node that has a slot.
   *
   * @throws StoreException with reason {@code DISCONNECTED} if none is known
   */
  Primary node(int slot);

  /**
   * The node that a call is sent on to, as soon as it has been tried to connect to it.
   *
   * @param from whose answer it was
   */
  CompletionStage<Primary> node(Redirection redirection, Primary from);
}
