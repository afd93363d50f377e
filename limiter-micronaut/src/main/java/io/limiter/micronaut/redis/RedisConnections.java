// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.LoopConnections;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.RedisConfiguration;
import io.limiter.micronaut.config.RedisConfiguration.Connections;
import io.limiter.micronaut.config.RedisConfiguration.SentinelConfiguration;
import io.limiter.micronaut.config.RedisConfiguration.Slots;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.netty.channel.EventLoopGroupConfiguration;
import io.micronaut.http.netty.channel.EventLoopGroupRegistry;
import io.micronaut.http.server.netty.configuration.NettyHttpServerConfiguration;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Provides the store's connections: one on each event loop of the server, or a single one; on a
 * Redis Cluster one to each primary.
 */
@Factory
@Requires(classes = RedisURI.class)
final class RedisConnections {

  private static final Logger LOG = LoggerFactory.getLogger(RedisConnections.class);

  /** Far above the time that an idle event loop takes to run a task. */
  private static final long ANSWER_SECONDS = 2;

  RedisConnections() {
    if (ServiceLinks.hasRedis()) {
      LOG.info(
          "REDIS_PORT is the link to a Kubernetes service and not a port: it is not read. enableServiceLinks: false in the pod's specification prevents such variables");
    }
  }

  /**
   * Used by the connections, which load the scripts into Redis, and by the store, which runs them.
   */
  @Singleton
  @Requires(beans = RedisAddress.class)
  RedisSettings settings(
      RedisConfiguration limiter,
      PoliciesConfiguration policies,
      List<CustomAlgorithm> algorithms) {
    RedisSettings settings = limiter.settings(policies.deadlines());
    if (settings.keySecret().isEmpty()) {
      LOG.info(
          "limiter.redis.key-secret is not set: readers of Redis can test guesses of subjects, and on a Redis Cluster clients can compute which node holds their state");
    }
    return settings.withAlgorithms(algorithms);
  }

  /**
   * Begins to connect before other beans are created, and does not wait for Redis: see {@link
   * StartWithRedis}.
   */
  @Context
  @Order(Ordered.HIGHEST_PRECEDENCE)
  @Bean(preDestroy = "close")
  @Requires(beans = RedisAddress.class)
  ConnectionSource connections(
      RedisAddress redis,
      RedisConfiguration limiter,
      SentinelConfiguration sentinels,
      RedisSettings settings,
      Optional<ServerLoops> server) {
    if (!redis.nodes().isEmpty()) {
      return cluster(redis.nodes(), limiter, settings);
    }
    RedisURI uri = withLogin(redis.server(), sentinels);
    return PendingConnections.open(
        ConnectionSource.name(uri),
        () -> standalone(uri, limiter, settings, server),
        limiter.slots() == Slots.PROXY
            ? null
            : () -> ClusterConnections.open(List.of(uri), settings));
  }

  /** Returns a copy for the limiter alone if its sentinels need a password. */
  private static RedisURI withLogin(RedisURI uri, SentinelConfiguration login) {
    if (login.password() == null || uri.getSentinels().isEmpty()) {
      return uri;
    }
    RedisURI.Builder copy = RedisURI.builder(uri).withSentinelMasterId(uri.getSentinelMasterId());
    for (RedisURI sentinel : uri.getSentinels()) {
      RedisURI.Builder one = RedisURI.builder(sentinel);
      copy.withSentinel(
          (login.username() == null
                  ? one.withPassword(login.password().toCharArray())
                  : one.withAuthentication(login.username(), login.password()))
              .build());
    }
    return copy.build();
  }

  private static ConnectionSource standalone(
      RedisURI uri,
      RedisConfiguration limiter,
      RedisSettings settings,
      Optional<ServerLoops> server) {
    List<EventLoop> loops = loops(limiter, server);
    if (loops.isEmpty()) {
      return SharedConnection.open(uri, settings);
    }
    return LoopConnections.open(loops, uri, settings);
  }

  /**
   * One connection to each primary. With one for each event loop, there would be as many as
   * primaries times event loops.
   */
  private static ConnectionSource cluster(
      List<RedisURI> nodes, RedisConfiguration limiter, RedisSettings settings) {
    if (limiter.connections() == Connections.EVENT_LOOP) {
      LOG.warn(
          "limiter.redis.connections = event-loop has no meaning with redis.uris: a Redis Cluster has one connection to each primary for all event loops");
    }
    return ClusterConnections.open(nodes, settings);
  }

  /**
   * The event loops to connect on; none if a single connection is configured or the only option.
   */
  private static List<EventLoop> loops(RedisConfiguration limiter, Optional<ServerLoops> server) {
    if (limiter.connections() == Connections.SHARED) {
      return List.of();
    }
    List<EventLoop> loops =
        server.map(known -> known.loops(limiter.maxConnections())).orElse(List.of());
    if (fit(loops)) {
      return loops;
    }
    LOG.atLevel(limiter.connections() == Connections.EVENT_LOOP ? Level.WARN : Level.INFO)
        .log(
            "One connection to Redis for all event loops: {}",
            loops.isEmpty()
                ? "this application has no Netty server"
                : "the event loops of the server use another transport than Lettuce's %s"
                    .formatted(LoopConnections.LoopTransport.name()));
    return List.of();
  }

  /** Whether Lettuce can connect on these loops, which are all of the same kind. */
  private static boolean fit(List<EventLoop> loops) {
    try {
      return !loops.isEmpty()
          && LoopConnections.LoopTransport.matches(loops.get(0))
              .toCompletableFuture()
              .get(ANSWER_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } catch (ExecutionException | TimeoutException e) {
      return false;
    }
  }

  /**
   * Connections that another thread opens while the application continues to start: Lettuce's work
   * before its first packet, mainly class loading, takes up to a tenth of a start. Until they are
   * open, Redis counts as not connected.
   *
   * <p>If the server turns out to be a node of a Redis Cluster, connections to all nodes take their
   * place.
   */
  static final class PendingConnections implements ConnectionSource {

    /** Longer than the calls in flight take when other connections replace these. */
    private static final long REPLACED_SECONDS = 10;

    private final String name;
    private final @Nullable Supplier<ConnectionSource> ofCluster;
    private final CompletableFuture<ConnectionSource> opening = new CompletableFuture<>();

    /** Done when these connections stay, or their replacements were tried. */
    private final CompletableFuture<?> settled = new CompletableFuture<>();

    private final List<Consumer<ConnectionSource>> users = new ArrayList<>();
    private volatile @Nullable ConnectionSource opened;
    private boolean closed;

    private PendingConnections(String name, @Nullable Supplier<ConnectionSource> ofCluster) {
      this.name = name;
      this.ofCluster = ofCluster;
    }

    /**
     * Opens the connections on a thread that then ends.
     *
     * @param name the connections' name, in messages
     * @param open may block for a bounded time; {@link #firstAttempt} fails with the exception that
     *     it throws
     * @param ofCluster opens those that take their place if the server is a node of a Redis
     *     Cluster; null if they stay in any case
     */
    static PendingConnections open(
        String name,
        Supplier<ConnectionSource> open,
        @Nullable Supplier<ConnectionSource> ofCluster) {
      PendingConnections pending = new PendingConnections(name, ofCluster);
      onThreadOfItsOwn(() -> pending.complete(open));
      return pending;
    }

    private static void onThreadOfItsOwn(Runnable task) {
      Thread thread = new Thread(task, "limiter-connect");
      thread.setDaemon(true);
      thread.start();
    }

    private void complete(Supplier<ConnectionSource> open) {
      try {
        ConnectionSource connections = open.get();
        use(connections);
        opening.complete(connections);
        var unused =
            connections
                .isClusterNode()
                .thenAccept(
                    node -> {
                      if (node && ofCluster != null) {
                        onThreadOfItsOwn(() -> replace(connections, ofCluster));
                      } else {
                        settled.complete(null);
                      }
                    });
      } catch (RuntimeException | LinkageError impossible) {
        opening.completeExceptionally(impossible);
      }
    }

    private synchronized void use(ConnectionSource connections) {
      opened = connections;
      users.forEach(user -> user.accept(connections));
    }

    private void replace(ConnectionSource one, Supplier<ConnectionSource> open) {
      ConnectionSource cluster;
      try {
        cluster = open.get();
      } catch (RuntimeException | LinkageError impossible) {
        LOG.warn(
            "The other nodes of the Redis Cluster of {} cannot be connected to", name, impossible);
        settled.complete(null);
        return;
      }
      var unused =
          cluster
              .firstAttempt()
              .thenAccept(
                  tried -> {
                    if (!reaches(cluster)) {
                      LOG.warn(
                          "{} answers, but no node of its Redis Cluster does at the address that the Cluster states, so the fallback decides what the other nodes hold",
                          name);
                      cluster.close();
                    } else if (takePlace(cluster)) {
                      CompletableFuture.delayedExecutor(REPLACED_SECONDS, TimeUnit.SECONDS)
                          .execute(one::close);
                    } else {
                      cluster.close();
                    }
                    settled.complete(null);
                  });
    }

    private synchronized boolean takePlace(ConnectionSource cluster) {
      if (!closed) {
        use(cluster);
      }
      return !closed;
    }

    private static boolean reaches(ConnectionSource cluster) {
      try {
        cluster.commands();
        return true;
      } catch (StoreException unreachable) {
        return false;
      }
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> commands() {
      ConnectionSource there = opened;
      if (there == null) {
        throw new StoreException(FailureReason.DISCONNECTED, name + " is not connected yet", null);
      }
      return there.commands();
    }

    /** Fails if the connections cannot be opened at all, for a reason other than Redis. */
    @Override
    public CompletionStage<Boolean> firstAttempt() {
      return opening
          .thenCompose(ConnectionSource::firstAttempt)
          .thenCompose(
              warm ->
                  warm
                      ? settled.thenApply(known -> true)
                      : CompletableFuture.completedFuture(false));
    }

    @Override
    public List<String> warnings() {
      ConnectionSource there = opened;
      return there == null ? List.of() : there.warnings();
    }

    @Override
    public synchronized void whenOpened(Consumer<ConnectionSource> user) {
      users.add(user);
      ConnectionSource there = opened;
      if (there != null) {
        user.accept(there);
      }
    }

    @Override
    public void renew() {
      ConnectionSource there = opened;
      if (there != null) {
        there.renew();
      }
    }

    /** Also closes connections that are opened afterwards. */
    @Override
    public void close() {
      synchronized (this) {
        closed = true;
      }
      var unused =
          opening.thenAccept(
              first -> {
                first.close();
                ConnectionSource last = opened;
                if (last != null && last != first) {
                  last.close();
                }
              });
    }
  }

  /** The event loops that serve requests. */
  @Singleton
  @Requires(classes = NettyHttpServerConfiguration.class)
  @Requires(beans = {NettyHttpServerConfiguration.class, EventLoopGroupRegistry.class})
  static final class ServerLoops {

    private final EventLoopGroup workers;

    ServerLoops(NettyHttpServerConfiguration server, EventLoopGroupRegistry registry) {
      NettyHttpServerConfiguration.Worker configured = server.getWorker();
      String name = configured == null ? EventLoopGroupConfiguration.DEFAULT : configured.getName();
      this.workers = registry.getEventLoopGroup(name).orElseGet(registry::getDefaultEventLoopGroup);
    }

    /** The first event loops, at most this many. */
    List<EventLoop> loops(int max) {
      List<EventLoop> loops = new ArrayList<>();
      for (EventExecutor worker : workers) {
        if (worker instanceof EventLoop loop && loops.size() < max) {
          loops.add(loop);
        }
      }
      return loops;
    }
  }
}
