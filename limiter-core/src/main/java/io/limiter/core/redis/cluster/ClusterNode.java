// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.RedisAsyncCommandsImpl;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.ClusterSource;
import io.limiter.core.redis.ConnectionSource.NodeAddress;
import io.limiter.core.redis.connection.ConnectionLog;
import io.limiter.core.redis.connection.ManagedConnection;
import io.limiter.core.redis.connection.TimedCommand;
import java.util.List;
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
  long idleSinceNanos;

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
      ManagedConnection.WarmUp warmUp,
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

  /**
   * Commands about keys of a slot that is migrating to this node. ASKING applies to the next
   * command of a connection only, and threads share connections; so each ASKING is written together
   * with its command.
   */
  static final class AskingCommands extends RedisAsyncCommandsImpl<byte[], byte[]> {

    private final StatefulRedisConnection<byte[], byte[]> connection;

    AskingCommands(StatefulRedisConnection<byte[], byte[]> connection) {
      super(connection, ByteArrayCodec.INSTANCE);
      this.connection = connection;
    }

    @Override
    public <T> AsyncCommand<byte[], byte[], T> dispatch(RedisCommand<byte[], byte[], T> command) {
      TimedCommand<byte[], byte[], T> sent = new TimedCommand<>(command);
      connection.dispatch(
          List.of(
              new Command<>(
                  CommandType.ASKING,
                  new StatusOutput<>(ByteArrayCodec.INSTANCE),
                  new CommandArgs<>(ByteArrayCodec.INSTANCE)),
              sent));
      return sent;
    }
  }
}
