// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Runs scripts on the node that has their keys, unless its breaker is open. */
final class ScriptRunner {

  private static final int TICK_MILLIS = 5;

  private final ConnectionSource connections;
  private final @Nullable ClusterSource cluster;
  private final Breakers breakers;
  private final Breaker only;
  private final HashedWheelTimer timer;

  ScriptRunner(ConnectionSource connections, Breakers breakers) {
    this.connections = connections;
    this.cluster = connections instanceof ClusterSource nodes ? nodes : null;
    this.breakers = breakers;
    this.only = breakers.of(connections.name());
    this.timer =
        new HashedWheelTimer(
            new DefaultThreadFactory("limiter-deadline", true), TICK_MILLIS, TimeUnit.MILLISECONDS);
    timer.start(); // else the first decision would, and wait for it
  }

  /** Whether keys of several slots cannot go into one script. */
  boolean isCluster() {
    return cluster != null;
  }

  /**
   * @param keys of one slot, if this is a Cluster; one or more
   * @param late receives a reply that comes after its time
   */
  <T> CompletionStage<@Nullable T> run(
      RedisScript script,
      ScriptOutputType output,
      byte[][] keys,
      byte[][] arguments,
      DecisionTime time,
      Consumer<@Nullable T> late) {
    Hop first;
    Detours detours = Detours.NONE;
    ClusterSource nodes = cluster;
    ClusterSource.Node node = null;
    try {
      if (nodes == null) {
        first = hop(only, connections, connections::commands);
      } else {
        node = nodes.node(SlotHash.getSlot(keys[0]));
        first = hop(node);
        detours = new ClusterDetours(this, nodes, node, keys, timer);
      }
    } catch (StoreException notAsked) {
      return CompletableFuture.failedFuture(notAsked);
    }
    ScriptCall<T> call =
        new ScriptCall<T>(
            first, detours, System::nanoTime, script, output, keys, arguments, time, timer, late);
    ClusterSource.Node asked = node;
    if (asked != null) {
      var unused =
          call.whenComplete(
              (reply, failure) -> {
                if (failure != null) {
                  asked.failed();
                }
              });
    }
    return call.start();
  }

  /**
   * @throws StoreException if the node cannot be asked now
   */
  Hop hop(ClusterSource.Node node) {
    return hop(breakers.of(node.name()), node, node::commands);
  }

  /** The same, for keys of a slot that is on its way to this node. */
  Hop askingHop(ClusterSource.Node node) {
    return hop(breakers.of(node.name()), node, node::asking);
  }

  private interface Commands {
    RedisClusterAsyncCommands<byte[], byte[]> get();
  }

  private static Hop hop(Breaker breaker, ConnectionSource node, Commands commands) {
    Breaker.Period period = breaker.admit();
    if (period == null) {
      throw breaker.refusal();
    }
    try {
      return new Hop(node.name(), period, node::renew, commands.get());
    } catch (StoreException disconnected) {
      period.undecided();
      if (node instanceof ClusterSource.Node one) {
        one.failed();
      }
      throw disconnected;
    }
  }

  /** A connection whose replies are not those to its calls will never be in step again. */
  void renew(byte[] key) {
    ClusterSource nodes = cluster;
    if (nodes == null) {
      connections.renew();
    } else {
      nodes.node(SlotHash.getSlot(key)).renew();
    }
  }

  void close() {
    timer.stop();
    connections.close();
  }
}
