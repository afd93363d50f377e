// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.ConnectionLog;
import io.limiter.core.redis.connection.LettuceClients;
import io.limiter.core.redis.connection.ManagedConnection;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.LoggerFactory;

/** One connection for all threads, on a thread of Lettuce. */
public final class SharedConnection implements ConnectionSource {

  private final String name;
  private final ConnectionLog log;
  private final RedisClient client;
  private final ManagedConnection connection;

  private final AtomicBoolean closed = new AtomicBoolean();

  private SharedConnection(
      String name, RedisClient client, ManagedConnection connection, ConnectionLog log) {
    this.name = name;
    this.log = log;
    this.client = client;
    this.connection = connection;
  }

  /** Begins to connect. */
  public static SharedConnection open(RedisURI uri, RedisSettings settings) {
    return open(LettuceClients.create(), uri, settings);
  }

  /**
   * @param client closed with the connection
   */
  static SharedConnection open(RedisClient client, RedisURI uri, RedisSettings settings) {
    String name = ConnectionSource.name(uri);
    ConnectionLog log =
        new ConnectionLog(
            LoggerFactory.getLogger(SharedConnection.class),
            name,
            1,
            "one connection for all threads");
    ManagedConnection connection = ManagedConnection.open(client, uri, settings.warmUp(), log);
    return new SharedConnection(name, client, connection, log);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public List<String> warnings() {
    return log.warnings();
  }

  @Override
  public CompletionStage<Boolean> isClusterNode() {
    return log.isClusterNode();
  }

  @Override
  public CompletionStage<Boolean> firstAttempt() {
    return connection.firstAttempt();
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    StatefulRedisConnection<byte[], byte[]> open = connection.ifOpen();
    if (open == null) {
      throw new StoreException(FailureReason.DISCONNECTED, name + " is not connected", null);
    }
    return open.async();
  }

  @Override
  public void renew() {
    connection.renew();
  }

  @Override
  public void close() {
    if (closed.getAndSet(true)) {
      return; // a closing client reports at once that it is closed
    }
    connection.close();
    LettuceClients.shutdown(client);
  }
}
