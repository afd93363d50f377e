// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.RedisFailures;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Checks whether Redis, or each node of a Redis Cluster, would answer a call now. It sends a
 * decision about a key of its own over the connections of a {@link RedisStore}, within the deadline
 * and through the breaker. So the breaker of a recovered node closes even without calls, for
 * example while the service receives none because it is not ready.
 */
public final class RedisHealth {

  /**
   * The number of slots that are searched for nodes: enough to find nodes with a hundredth of all
   * slots.
   */
  private static final int SLOTS = 1_024;

  private static final String CLUSTER = "Redis Cluster";

  private final RedisNodes nodes;
  private final String keyPrefix;
  private final Function<byte[], CompletionStage<?>> decide;

  /**
   * @param decide takes a unit of a rule, so that a key is written
   */
  RedisHealth(RedisNodes nodes, String keyPrefix, Function<byte[], CompletionStage<?>> decide) {
    this.nodes = nodes;
    this.keyPrefix = keyPrefix;
    this.decide = decide;
  }

  /**
   * Runs the check. It takes no units of a limit, and is not counted as a decision of a fallback.
   *
   * @return one status for each node; completes within the deadline of all policies, and never
   *     fails
   */
  public CompletionStage<List<NodeStatus>> check() {
    List<CompletableFuture<NodeStatus>> asked = new ArrayList<>();
    ClusterSource cluster = nodes.cluster;
    if (cluster == null) {
      asked.add(ask(nodes.connections.name(), key(0)));
    } else {
      nodes(cluster).forEach((node, key) -> asked.add(ask(node, key)));
    }
    return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new))
        .thenApply(all -> asked.stream().map(CompletableFuture::join).toList());
  }

  /**
   * Warnings about weakened limits on the servers that were connected so far, as sentences that
   * name the server.
   */
  public List<String> warnings() {
    return nodes.connections.warnings();
  }

  /** A key of each node. Slots without a known node are reported under the Cluster itself. */
  private Map<String, byte[]> nodes(ClusterSource cluster) {
    Map<String, byte[]> keys = new LinkedHashMap<>();
    for (int i = 0; i < SLOTS; i++) {
      byte[] key = key(i);
      keys.putIfAbsent(owner(cluster, SlotHash.getSlot(key)), key);
    }
    return keys;
  }

  private static String owner(ClusterSource cluster, int slot) {
    try {
      return cluster.node(slot).name();
    } catch (StoreException unknown) {
      return CLUSTER;
    }
  }

  /** Not a key of any subject: those have 22 characters in braces. */
  private byte[] key(int number) {
    return (keyPrefix + "{health-" + number + '}').getBytes(StandardCharsets.US_ASCII);
  }

  private CompletableFuture<NodeStatus> ask(String node, byte[] key) {
    return decide
        .apply(key)
        .handle((decided, failure) -> status(node, failure))
        .toCompletableFuture();
  }

  private NodeStatus status(String node, @Nullable Throwable failure) {
    return new NodeStatus(
        node, Optional.ofNullable(failure).map(RedisHealth::known), nodes.breakers.isLost(node));
  }

  private static StoreException known(Throwable failure) {
    return RedisFailures.unwrap(failure) instanceof StoreException known
        ? known
        : new StoreException(FailureReason.ERROR, "Redis could not be called", failure);
  }

  /**
   * The status of a Redis node at its last check.
   *
   * @param name {@code Redis}, or host and port of a node of a Redis Cluster
   * @param failure why it gave no reply; empty if it replied
   * @param lost whether it is lost, see {@link NodeListener#lost}
   */
  public record NodeStatus(String name, Optional<StoreException> failure, boolean lost) {}

  /**
   * Receives the loss of Redis nodes, and their return, in turn for each node. All methods run on
   * threads of the store, event loops among them: they must not block or throw.
   */
  public interface NodeListener {

    /**
     * A node is called for the first time. Once for each node, before its other events.
     *
     * @param node its name in messages, such as {@code Redis at db:6379}
     * @param lost whether it is lost, at any later time
     */
    default void added(String node, BooleanSupplier lost) {}

    /**
     * A node failed so often that its breaker opened, or five calls in a row found no connection to
     * it.
     *
     * @param node its name in messages, such as {@code Redis at db:6379}
     * @param why the last failure
     */
    void lost(String node, StoreException why);

    /**
     * A lost node has answered a call: it decides again.
     *
     * @param node its name in messages
     */
    void back(String node);
  }
}
