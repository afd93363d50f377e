// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;

/**
 * Which connection a decision is sent on. Called on the thread that decides, so it must not block.
 */
public interface ConnectionSource extends AutoCloseable {

  /**
   * The commands of an open connection, stand-alone or Cluster.
   *
   * @throws StoreException with reason {@code DISCONNECTED} if there is none now
   */
  RedisClusterAsyncCommands<byte[], byte[]> commands();

  @Override
  void close();
}
