// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.StoreException;
import io.limiter.core.redis.cluster.ClusterRedirects;
import io.limiter.core.redis.cluster.ClusterSource;
import io.limiter.core.redis.connection.Breaker;
import io.limiter.core.redis.connection.CallTarget;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.redis.connection.NodeBreakers;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.EncodedCall;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.nio.charset.StandardCharsets;
import java.util.List;
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
  private final NodeBreakers breakers;
  private final Breaker only;
  private final HashedWheelTimer timer;

  ScriptRunner(ConnectionSource connections, NodeBreakers breakers) {
    this.connections = connections;
    this.cluster = connections instanceof ClusterSource nodes ? nodes : null;
    this.breakers = breakers;
    this.only = breakers.of(connections.name());
    this.timer =
        new HashedWheelTimer(
            new DefaultThreadFactory("limiter-deadline", true), TICK_MILLIS, TimeUnit.MILLISECONDS);
    timer.start(); // otherwise the first decision would start it, and wait for it
  }

  /**
   * Fails if a reply is a single text: the reason why the script did nothing. An error reply would
   * count as a failure of Redis.
   */
  static void requireDone(@Nullable List<byte[]> reply) {
    if (reply != null && reply.size() == 1) {
      throw new IllegalStateException(new String(reply.get(0), StandardCharsets.UTF_8));
    }
  }

  /** Whether keys of several slots need several scripts. */
  boolean isCluster() {
    return cluster != null;
  }

  /**
   * @param keys one or more; of one slot if this is a Cluster
   * @param late receives a reply that arrives after its deadline
   */
  <T> CompletionStage<@Nullable T> run(
      RedisScript script,
      ScriptOutputType output,
      byte[][] keys,
      byte[][] arguments,
      DecisionTime time,
      Consumer<@Nullable T> late) {
    return run(script, output, keys, arguments, null, time, late);
  }

  /** Runs the script of a decision. */
  CompletionStage<byte @Nullable []> decide(
      RedisScript script,
      EncodedCall decision,
      DecisionTime time,
      Consumer<byte @Nullable []> late) {
    return run(
        script,
        ScriptOutputType.VALUE,
        decision.keys(),
        decision.arguments(),
        decision.mayShare() ? decision : null,
        time,
        late);
  }

  private <T> CompletionStage<@Nullable T> run(
      RedisScript script,
      ScriptOutputType output,
      byte[][] keys,
      byte[][] arguments,
      @Nullable EncodedCall decision,
      DecisionTime time,
      Consumer<@Nullable T> late) {
    CallTarget first;
    CallTarget.Redirects detours = CallTarget.Redirects.NONE;
    ClusterSource nodes = cluster;
    ClusterSource.Primary node = null;
    try {
      if (nodes == null) {
        first = CallTarget.of(only, connections, connections::commands);
      } else {
        node = nodes.node(SlotHash.getSlot(keys[0]));
        first = ClusterRedirects.target(breakers, node);
        detours = new ClusterRedirects(breakers, nodes, node, keys, timer);
      }
    } catch (StoreException notAsked) {
      return CompletableFuture.failedFuture(notAsked);
    }
    ScriptCall<T> call =
        new ScriptCall<T>(
            first, detours, System::nanoTime, script, output, keys, arguments, time, timer, late);
    if (decision != null) {
      call.mayShare(decision);
    }
    ClusterSource.Primary asked = node;
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

  /** Replaces a connection whose replies do not match its calls: it never gets back in step. */
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
