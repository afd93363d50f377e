// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.redis.connection.ManagedConnection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Asks some nodes of a Cluster for the map of slots: connected nodes, or, if there are none, those
 * of the configuration.
 */
final class ClusterViews {

  /** More than one, since a node may be cut off from the others without detecting it. */
  private static final int MOST_ASKED = 3;

  /** Time limit for the reply of a connected node. */
  private static final long ANSWER_MILLIS = 500;

  private final RedisClient client;
  private final List<RedisURI> seeds;

  /**
   * @param client for connections to the seeds, each of which ends with the reply
   */
  ClusterViews(RedisClient client, List<RedisURI> seeds) {
    this.client = client;
    this.seeds = seeds.stream().map(ManagedConnection::bounded).toList();
  }

  /** Completes with the replies that arrived in time; fails if there are none. */
  CompletionStage<Collection<ClusterTopology.View>> ask(Collection<ClusterNode> nodes) {
    List<ClusterNode> open = new ArrayList<>(nodes);
    open.removeIf(node -> !node.isOpen());
    return ask(open, ClusterViews::askNode)
        .exceptionallyCompose(failure -> ask(seeds, this::askSeed));
  }

  private static <T> CompletionStage<Collection<ClusterTopology.View>> ask(
      List<T> candidates, Function<T, CompletionStage<ClusterTopology.View>> ask) {
    List<T> some = new ArrayList<>(candidates);
    Collections.shuffle(some);
    Queue<ClusterTopology.View> views = new ConcurrentLinkedQueue<>();
    AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
    CompletableFuture<?>[] all =
        some.stream()
            .limit(MOST_ASKED)
            .map(
                one ->
                    ask.apply(one)
                        .thenAccept(views::add)
                        .exceptionally(
                            failure -> {
                              failed.set(failure);
                              return null;
                            })
                        .toCompletableFuture())
            .toArray(CompletableFuture[]::new);
    return CompletableFuture.allOf(all)
        .thenCompose(
            answered -> {
              Throwable failure = failed.get();
              return !views.isEmpty()
                  ? CompletableFuture.completedFuture(views)
                  : CompletableFuture.failedFuture(
                      failure == null ? new IllegalStateException("No node to ask") : failure);
            });
  }

  private static CompletionStage<ClusterTopology.View> askNode(ClusterNode node) {
    try {
      return node.commands()
          .clusterNodes()
          .toCompletableFuture()
          .orTimeout(ANSWER_MILLIS, TimeUnit.MILLISECONDS)
          .thenApply(answer -> new ClusterTopology.View(node.address().host(), answer));
    } catch (RuntimeException disconnected) {
      return CompletableFuture.failedFuture(disconnected);
    }
  }

  private CompletionStage<ClusterTopology.View> askSeed(RedisURI seed) {
    try {
      CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connecting =
          client.connectAsync(ByteArrayCodec.INSTANCE, seed).toCompletableFuture();
      return connecting
          .thenCompose(connection -> connection.async().clusterNodes())
          .orTimeout(ManagedConnection.HANDSHAKE_MILLIS, TimeUnit.MILLISECONDS)
          .whenComplete(
              (answer, failure) -> {
                var unused = connecting.thenAccept(ClusterViews::end);
              })
          .thenApply(answer -> new ClusterTopology.View(seed.getHost(), answer));
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  private static void end(StatefulRedisConnection<byte[], byte[]> connection) {
    var unused = connection.closeAsync();
  }
}
