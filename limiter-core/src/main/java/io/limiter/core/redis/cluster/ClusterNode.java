// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.ConnectionLog;
import io.limiter.core.redis.connection.ConnectionWarmUp;
import io.limiter.core.redis.connection.ManagedConnection;
import io.limiter.core.redis.connection.NodeAddress;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** One primary of a Redis Cluster, and the connection to it, for all threads. */
final class ClusterNode implements ClusterSource.Primary {

  private final NodeAddress address;
  private final String name;
  private final RedisClient client;
  private final ManagedConnection connection;
  private final Runnable failed;

  /** When it became unused, in ns; 0 if it is in use. Accessed by the topology update only. */
  long idleSince;

  private ClusterNode(
      NodeAddress address, RedisClient client, ManagedConnection connection, Runnable failed) {
    this.address = address;
    this.name = name(address);
    this.client = client;
    this.connection = connection;
    this.failed = failed;
  }

  /**
   * Begins to connect.
   *
   * @param client for this node only; closed with it
   * @param seed the connection settings; its address is replaced
   * @param failed runs when a call has failed
   */
  static ClusterNode open(
      NodeAddress address,
      RedisClient client,
      RedisURI seed,
      ConnectionWarmUp warmUp,
      ConnectionLog log,
      Runnable failed) {
    RedisURI uri = RedisURI.builder(seed).withHost(address.host()).withPort(address.port()).build();
    return new ClusterNode(
        address, client, ManagedConnection.open(client, uri, warmUp, log), failed);
  }

  static String name(NodeAddress address) {
    return "Redis at " + address;
  }

  NodeAddress address() {
    return address;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public CompletionStage<Boolean> firstAttempt() {
    return connection.firstAttempt();
  }

  boolean isOpen() {
    return connection.ifOpen() != null;
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    return open().async();
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> asking() {
    return new AskingCommands(open());
  }

  private StatefulRedisConnection<byte[], byte[]> open() {
    StatefulRedisConnection<byte[], byte[]> open = connection.ifOpen();
    if (open == null) {
      throw new StoreException(FailureReason.DISCONNECTED, name + " is not connected", null);
    }
    return open;
  }

  @Override
  public void failed() {
    failed.run();
  }

  @Override
  public void renew() {
    connection.renew();
    failed.run();
  }

  /** Closes the connection; the threads are shared. */
  @Override
  public void close() {
    var unused = retire().shutdownAsync(0, 0, TimeUnit.MILLISECONDS);
  }

  /** Stops connecting; the caller closes the clients of all nodes together. */
  RedisClient retire() {
    connection.close();
    return client;
  }
}
