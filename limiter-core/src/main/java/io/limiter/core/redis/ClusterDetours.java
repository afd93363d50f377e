// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.StoreException;
import io.netty.util.Timer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Where one call goes on in a Redis Cluster whose slots move. */
final class ClusterDetours implements Detours {

  /** For a key to arrive. */
  private static final long PAUSE_MILLIS = 5;

  private final ScriptRunner runner;
  private final ClusterSource nodes;
  private final byte[][] keys;
  private final Timer timer;
  private ClusterSource.Node node;

  /**
   * @param first to which the call is sent first
   */
  ClusterDetours(
      ScriptRunner runner,
      ClusterSource nodes,
      ClusterSource.Node first,
      byte[][] keys,
      Timer timer) {
    this.runner = runner;
    this.nodes = nodes;
    this.node = first;
    this.keys = keys;
    this.timer = timer;
  }

  /** One at a time: the next is asked for once the call has been sent to the last. */
  @Override
  public @Nullable CompletionStage<Hop> after(Throwable failure) {
    Redirection redirection = Redirection.of(failure);
    if (redirection != null) {
      return nodes
          .node(redirection, node)
          .thenApply(next -> redirection.ask() ? runner.askingHop(at(next)) : runner.hop(at(next)));
    }
    if (!RedisFailures.isTryAgain(failure)) {
      return null;
    }
    if (keys.length > 1) {
      return CompletableFuture.failedFuture(SlotMoving.failure());
    }
    CompletableFuture<Hop> later = new CompletableFuture<>();
    timer.newTimeout(
        expired -> {
          try {
            later.complete(runner.hop(at(nodes.node(SlotHash.getSlot(keys[0])))));
          } catch (StoreException notAsked) {
            later.completeExceptionally(notAsked);
          }
        },
        PAUSE_MILLIS,
        TimeUnit.MILLISECONDS);
    return later;
  }

  private ClusterSource.Node at(ClusterSource.Node next) {
    node = next;
    return next;
  }
}
