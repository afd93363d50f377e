// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.EventLoopGroupProvider;
import io.lettuce.core.resource.NettyCustomizer;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Property;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.netty.channel.EventLoopGroupRegistry;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import jakarta.annotation.PreDestroy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * A connection to Redis on each event loop of the server, for the floors. It shares no code with
 * the limiter's connections, so that a change of those does not move what they are compared with.
 * It connects at the start, because a filter must not wait.
 */
@Context
@Requires(property = "redis.uri") // not where parts are measured without a server
final class FloorConnections {

  /** Returns as many bytes as the limiter's script for two rules. */
  private static final NoOpScript SCRIPT = NoOpScript.ofRules(2);

  /** The length of a key of {@code /limited} behind its prefix. */
  private static final int KEY_BYTES = 33;

  /** The length of the limiter's arguments for two rules, of which the script reads none. */
  private static final byte[][] ARGUMENTS = {new byte[97], new byte[7]};

  private static final int SHUTDOWN_MILLIS = 1_000;
  private static final int MAX_CONSOLIDATED = 256;

  private final byte[][] keys;
  private final ClientResources resources =
      ClientResources.builder().commandLatencyRecorder(CommandLatencyRecorder.disabled()).build();
  private final List<RedisClient> clients = new ArrayList<>();
  private final List<RedisAsyncCommands<byte[], byte[]>> all = new ArrayList<>();
  private final Map<Thread, RedisAsyncCommands<byte[], byte[]>> byThread =
      new ConcurrentHashMap<>(); // one entry for each event loop

  FloorConnections(
      EventLoopGroupRegistry server,
      @Property(name = "redis.uri") String redis,
      @Property(name = "limiter.redis.key-prefix") String prefix)
      throws Exception {
    this.keys = new byte[][] {(prefix + "k".repeat(KEY_BYTES)).getBytes(US_ASCII)};
    for (EventExecutor worker : server.getDefaultEventLoopGroup()) {
      if (worker instanceof EventLoop loop) {
        RedisAsyncCommands<byte[], byte[]> commands = connect(loop, RedisURI.create(redis));
        all.add(commands);
        loop.submit(() -> byThread.put(Thread.currentThread(), commands)).get();
      }
    }
    String sha = all.get(0).scriptLoad(SCRIPT.text()).get();
    if (!sha.equals(SCRIPT.sha())) {
      throw new IllegalStateException(
          "Redis names the script %s, and not as in %s".formatted(sha, SCRIPT));
    }
  }

  private RedisAsyncCommands<byte[], byte[]> connect(EventLoop loop, RedisURI uri) {
    RedisClient client =
        RedisClient.create(
            resources
                .mutate()
                .eventLoopGroupProvider(new OneLoop(loop))
                .nettyCustomizer(new OnePacketEachTurn())
                .build(),
            uri);
    clients.add(client);
    StatefulRedisConnection<byte[], byte[]> connection = client.connect(ByteArrayCodec.INSTANCE);
    return connection.async();
  }

  /**
   * Sends one EVALSHA: on an event loop by the connection of this loop, where the reply arrives on
   * the same thread; on another thread by any of them.
   */
  CompletionStage<byte[]> ask() {
    Thread current = Thread.currentThread();
    RedisAsyncCommands<byte[], byte[]> commands = byThread.get(current);
    if (commands == null) {
      commands = all.get(Math.floorMod(current.hashCode(), all.size()));
    }
    return commands.evalsha(SCRIPT.sha(), ScriptOutputType.VALUE, keys, ARGUMENTS);
  }

  /** Does not wait: the event loops may have ended, and then report nothing. */
  @PreDestroy
  void close() {
    for (RedisClient client : clients) {
      var unused = client.shutdownAsync(0, 0, TimeUnit.MILLISECONDS);
      end(client.getResources());
    }
    end(resources);
  }

  private static void end(ClientResources resources) {
    var unused = resources.shutdown(0, SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Sends what is written in one turn of the loop in one packet, since that is the least work. */
  private static final class OnePacketEachTurn implements NettyCustomizer {
    @Override
    public void afterChannelInitialized(Channel opened) {
      opened.pipeline().addFirst(new FlushConsolidationHandler(MAX_CONSOLIDATED, true));
    }
  }

  /** Gives Lettuce one event loop of the server, and never ends it. */
  private record OneLoop(EventLoop loop) implements EventLoopGroupProvider {

    /** Lettuce requests a class, but uses the result as any event loop group. */
    @Override
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    public <T extends EventLoopGroup> T allocate(Class<T> type) {
      return (T) loop;
    }

    @Override
    public int threadPoolSize() {
      return 1;
    }

    @Override
    public Future<Boolean> release(
        EventExecutorGroup group, long quietPeriod, long timeout, TimeUnit unit) {
      return ImmediateEventExecutor.INSTANCE.newSucceededFuture(true);
    }

    @Override
    public Future<Boolean> shutdown(long quietPeriod, long timeout, TimeUnit unit) {
      return ImmediateEventExecutor.INSTANCE.newSucceededFuture(true);
    }
  }
}
