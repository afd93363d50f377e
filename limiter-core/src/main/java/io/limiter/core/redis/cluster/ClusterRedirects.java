// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.Breaker;
import io.limiter.core.redis.connection.CallTarget;
import io.limiter.core.redis.connection.NodeBreakers;
import io.limiter.core.redis.connection.RedisFailures;
import io.limiter.core.redis.connection.RedisFailures.Redirection;
import io.netty.util.Timer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Where one call continues in a Redis Cluster whose slots move. */
public final class ClusterRedirects implements CallTarget.Redirects {

  /** Time for a key to arrive. */
  private static final long PAUSE_MILLIS = 5;

  private final NodeBreakers breakers;
  private final ClusterSource nodes;
  private final byte[][] keys;
  private final Timer timer;
  private ClusterSource.Primary node;

  /**
   * @param first the node to which the call is sent first
   */
  public ClusterRedirects(
      NodeBreakers breakers,
      ClusterSource nodes,
      ClusterSource.Primary first,
      byte[][] keys,
      Timer timer) {
    this.breakers = breakers;
    this.nodes = nodes;
    this.node = first;
    this.keys = keys;
    this.timer = timer;
  }

  /** Not concurrent: the next target is requested after the call was sent to the last one. */
  @Override
  public @Nullable CompletionStage<CallTarget> after(Throwable failure) {
    Redirection redirection = Redirection.of(failure);
    if (redirection != null) {
      return nodes
          .node(redirection, node)
          .thenApply(next -> redirection.ask() ? asking(at(next)) : target(breakers, at(next)));
    }
    if (!RedisFailures.isTryAgain(failure)) {
      return null;
    }
    if (keys.length > 1) {
      return CompletableFuture.failedFuture(SlotMoving.failure());
    }
    CompletableFuture<CallTarget> later = new CompletableFuture<>();
    timer.newTimeout(
        expired -> {
          try {
            later.complete(target(breakers, at(nodes.node(SlotHash.getSlot(keys[0])))));
          } catch (StoreException notAsked) {
            later.completeExceptionally(notAsked);
          }
        },
        PAUSE_MILLIS,
        TimeUnit.MILLISECONDS);
    return later;
  }

  /**
   * A node as the target of a call.
   *
   * @throws StoreException if the node cannot be asked now
   */
  public static CallTarget target(NodeBreakers breakers, ClusterSource.Primary node) {
    return target(breakers, node, node::commands);
  }

  /** The same for a key whose slot is migrating to this node. */
  private CallTarget asking(ClusterSource.Primary node) {
    return target(breakers, node, node::asking);
  }

  private static CallTarget target(
      NodeBreakers breakers, ClusterSource.Primary node, CallTarget.Commands commands) {
    Breaker breaker = breakers.of(node.name());
    try {
      return CallTarget.of(breaker, node, commands);
    } catch (StoreException notAsked) {
      if (notAsked.reason() == FailureReason.DISCONNECTED) {
        node.failed();
      }
      throw notAsked;
    }
  }

  private ClusterSource.Primary at(ClusterSource.Primary next) {
    node = next;
    return next;
  }

  /**
   * A call about several keys has not run because their slot is migrating: Redis decides about
   * several keys at once only if all of them exist on one side. They have to be asked one by one.
   */
  public static final class SlotMoving extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private SlotMoving() {
      super("a slot is migrating", null, false, false);
    }

    static StoreException failure() {
      return new StoreException(
          FailureReason.ERROR, "Redis answered with the error TRYAGAIN", new SlotMoving());
    }

    public static boolean is(Throwable failure) {
      return RedisFailures.unwrap(failure).getCause() instanceof SlotMoving;
    }
  }
}
