// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Transports;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.ConnectionLog;
import io.limiter.core.redis.connection.LettuceClients;
import io.limiter.core.redis.connection.ManagedConnection;
import io.limiter.core.redis.connection.ManagedConnection.WarmUp;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.ReflectiveChannelFactory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection on each of a server's event loops: a decision is written, read and continued on
 * the thread that serves the request. Everything that is written in one turn of a loop leaves in
 * one packet. Other threads use any of the connections.
 *
 * <p>The loops belong to the server: they are neither started nor stopped here.
 */
public final class LoopConnections implements ConnectionSource {

  private static final Logger LOG = LoggerFactory.getLogger(LoopConnections.class);

  private final String name;
  private final ConnectionLog log;
  private final ClientResources resources;
  private final List<RedisClient> clients = new ArrayList<>();
  private final List<ManagedConnection> connections = new ArrayList<>();
  // One entry for each loop that has a connection.
  private final Map<Thread, ManagedConnection> byThread = new ConcurrentHashMap<>();

  private final AtomicBoolean closed = new AtomicBoolean();

  private LoopConnections(String name, ConnectionLog log, ClientResources resources) {
    this.name = name;
    this.log = log;
    this.resources = resources;
  }

  private void connect(EventLoop loop, RedisURI uri, WarmUp warmUp) {
    RedisClient client = LettuceClients.onLoop(resources, loop);
    clients.add(client);
    ManagedConnection connection = ManagedConnection.open(client, uri, warmUp, log);
    connections.add(connection);
    loop.execute(() -> byThread.put(Thread.currentThread(), connection));
  }

  /**
   * Begins to connect.
   *
   * @param loops event loops for which {@link LoopTransport#matches}; one or more
   */
  public static LoopConnections open(
      Collection<? extends EventLoop> loops, RedisURI uri, RedisSettings settings) {
    return open(loops, uri, settings, LettuceClients.resources());
  }

  static LoopConnections open(
      Collection<? extends EventLoop> loops,
      RedisURI uri,
      RedisSettings settings,
      ClientResources.Builder resources) {
    if (loops.isEmpty()) {
      throw new IllegalArgumentException("No event loops to connect on: name one or more");
    }
    String how =
        loops.size() == 1
            ? "one connection on an event loop"
            : loops.size() + " connections, each on an event loop of its own";
    String name = ConnectionSource.name(uri);
    ConnectionLog log = new ConnectionLog(LOG, name, loops.size(), how);
    LoopConnections opened = new LoopConnections(name, log, resources.build());
    WarmUp warmUp = settings.warmUp();
    try {
      loops.forEach(loop -> opened.connect(loop, uri, warmUp));
    } catch (RuntimeException ended) { // a loop that has ended accepts no task
      opened.close();
      throw ended;
    }
    return opened;
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
    CompletionStage<Boolean> all = CompletableFuture.completedFuture(true);
    for (ManagedConnection connection : connections) {
      all = all.thenCombine(connection.firstAttempt(), Boolean::logicalAnd);
    }
    return all;
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    Thread current = Thread.currentThread();
    ManagedConnection own = byThread.get(current);
    StatefulRedisConnection<byte[], byte[]> open = own == null ? null : own.ifOpen();
    if (open == null) {
      open = any(current.hashCode());
    }
    if (open == null) {
      throw new StoreException(FailureReason.DISCONNECTED, name + " is not connected", null);
    }
    return open.async();
  }

  /**
   * The first open connection, searched from a start index that usually differs between threads.
   */
  private @Nullable StatefulRedisConnection<byte[], byte[]> any(int start) {
    int size = connections.size();
    for (int i = 0; i < size; i++) {
      StatefulRedisConnection<byte[], byte[]> open =
          connections.get(Math.floorMod(start + i, size)).ifOpen();
      if (open != null) {
        return open;
      }
    }
    return null;
  }

  @Override
  public void renew() {
    connections.forEach(ManagedConnection::renew);
  }

  /** The number of connections, open or not. */
  public int size() {
    return connections.size();
  }

  @Override
  public void close() {
    if (closed.getAndSet(true)) {
      return; // closing clients report at once that they are closed
    }
    connections.forEach(ManagedConnection::close);
    LettuceClients.shutdown(clients, resources);
  }

  /**
   * Checks whether Lettuce can connect on an event loop. Lettuce uses the native transport that it
   * finds on the class path, whatever the server uses, and a channel of one transport cannot be
   * registered on a loop of another.
   */
  public static final class LoopTransport {

    private LoopTransport() {}

    /** The transport that Lettuce uses, for messages, such as {@code NioSocketChannel}. */
    public static String name() {
      return Transports.socketChannelClass().getSimpleName();
    }

    /**
     * Whether such a channel can be registered on this loop. Completes on the loop; never fails.
     */
    public static CompletionStage<Boolean> matches(EventLoop loop) {
      CompletableFuture<Boolean> matches = new CompletableFuture<>();
      Channel channel =
          new ReflectiveChannelFactory<>(Transports.socketChannelClass()).newChannel();
      var unused =
          loop.register(channel)
              .addListener(
                  registered -> {
                    channel.unsafe().closeForcibly();
                    matches.complete(registered.isSuccess());
                  });
      return matches;
    }
  }
}
