// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.ClusterSource.Redirection;
import io.limiter.core.redis.connection.RedisFailures;
import io.netty.util.HashedWheelTimer;
import io.netty.util.Timer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** The nodes on which scripts run: one, or those of a Redis Cluster whose slots move. */
final class RedisNodes {

  private static final int TICK_MILLIS = 5;

  /** Time for a key to arrive. */
  private static final long PAUSE_MILLIS = 5;

  /** The connections of the source once it has opened them; until then the source itself. */
  volatile ConnectionSource connections;

  private final ConnectionSource source;

  /**
   * {@link #connections} if they are those of a Cluster, where keys of several slots need several
   * scripts; otherwise null.
   */
  volatile @Nullable ClusterSource cluster;

  /** Whether each command has keys of one slot only. */
  volatile boolean bySlot;

  final NodeBreakers breakers;

  /** Whether every connection was tried once; before, the lack of one is no loss. */
  private volatile boolean tried;

  /** The breaker of the only node. */
  final Breaker only;

  /** A timer whose thread is no event loop. */
  final Timer timer;

  /** The clock of {@link System#nanoTime}. */
  final LongSupplier nanoTime;

  /**
   * @param bySlot whether each command has keys of one slot only, whatever the server is
   */
  RedisNodes(ConnectionSource connections, NodeBreakers breakers, boolean bySlot) {
    this(connections, breakers, startedTimer(), System::nanoTime);
    this.bySlot |= bySlot;
  }

  RedisNodes(
      ConnectionSource connections, NodeBreakers breakers, Timer timer, LongSupplier nanoTime) {
    this.connections = connections;
    this.breakers = breakers;
    this.only = breakers.of(connections.name());
    this.timer = timer;
    this.nanoTime = nanoTime;
    this.source = connections;
    use(connections);
    connections.whenOpened(this::use);
    var unused = connections.firstAttempt().whenComplete((opened, failure) -> tried = true);
  }

  /** A call of this period of a breaker found no connection. */
  void unconnected(Breaker.Period period, StoreException why) {
    if (tried) {
      period.unconnected(why);
    } else {
      period.undecided();
    }
  }

  private void use(ConnectionSource opened) {
    if (opened instanceof ClusterSource nodes) {
      bySlot = true;
      cluster = nodes;
    }
    connections = opened;
    var unused =
        opened
            .isClusterNode()
            .thenAccept(
                node -> {
                  if (node) {
                    bySlot = true;
                  }
                });
  }

  /**
   * The server has answered CROSSSLOT, so that nothing ran: from now on each command has keys of
   * one slot only.
   */
  synchronized void divideBySlot() {
    if (!bySlot) {
      bySlot = true;
      LoggerFactory.getLogger(RedisNodes.class)
          .warn(
              "{} takes only keys of one slot in a command, so calls of several subjects are divided from now on, and fewer calls share a command. If it is a node of a Redis Cluster, name the nodes in redis.uris; if it is a proxy, set limiter.redis.slots to proxy",
              connections.name());
    }
  }

  /** Otherwise the first decision would start it, and wait for it. */
  private static Timer startedTimer() {
    HashedWheelTimer timer =
        new HashedWheelTimer(
            new DefaultThreadFactory("limiter-deadline", true), TICK_MILLIS, TimeUnit.MILLISECONDS);
    timer.start();
    return timer;
  }

  /**
   * Where a call continues after a failure that proves that nothing ran; null if the failure is the
   * call's result. The stage may fail with a {@link StoreException}.
   *
   * @param from the node that has replied
   * @param keys those of the call
   */
  @Nullable CompletionStage<ClusterSource.Primary> after(
      Throwable failure, ConnectionSource from, byte[][] keys) {
    ClusterSource nodes = cluster;
    if (nodes == null || !(from instanceof ClusterSource.Primary primary)) {
      return null;
    }
    Redirection redirection = Redirection.of(failure);
    if (redirection != null) {
      return nodes.node(redirection, primary);
    }
    if (!RedisFailures.isTryAgain(failure)) {
      return null;
    }
    if (keys.length > 1) {
      return CompletableFuture.failedFuture(
          Division.SLOT_MOVING.failure("Redis answered with the error TRYAGAIN"));
    }
    CompletableFuture<ClusterSource.Primary> later = new CompletableFuture<>();
    timer.newTimeout(
        expired -> {
          try {
            later.complete(nodes.node(SlotHash.getSlot(keys[0])));
          } catch (StoreException unknown) {
            later.completeExceptionally(unknown);
          }
        },
        PAUSE_MILLIS,
        TimeUnit.MILLISECONDS);
    return later;
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
    source.close();
  }

  /** Why a command about several keys did not run. The keys are then asked in several commands. */
  enum Division {

    /**
     * Their slot is migrating, and Redis decides about several keys at once only if all of them
     * exist on one side. They are asked one by one.
     */
    SLOT_MOVING,

    /** They are in several slots. They are asked slot by slot. */
    SEVERAL_SLOTS;

    StoreException failure(String message) {
      return new StoreException(FailureReason.ERROR, message, new Divided(this));
    }

    boolean isCauseOf(Throwable failure) {
      return RedisFailures.unwrap(failure).getCause() instanceof Divided divided
          && divided.why == this;
    }

    private static final class Divided extends RuntimeException {

      private static final long serialVersionUID = 1L;

      private final Division why;

      private Divided(Division why) {
        super(why.name(), null, false, false);
        this.why = why;
      }
    }
  }
}
