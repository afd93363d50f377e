// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.resource.ClientResources;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.ClusterSource;
import io.limiter.core.redis.ClusterSource.Redirection;
import io.limiter.core.redis.ConnectionSource.NodeAddress;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.connection.ConnectionLog;
import io.limiter.core.redis.connection.LettuceClients;
import io.limiter.core.redis.connection.ManagedConnection;
import io.limiter.core.redis.wire.DecisionScripts;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection to each primary of a Redis Cluster, for all threads. The map of slots is looked up
 * in the background, never by calls; a primary gets its slots here once its connection is warm.
 *
 * <p>This does not use Lettuce's Cluster connection, which sends and redirects calls after their
 * deadline has passed, opens connections when a call first needs them, and may prefer the map of a
 * node that has lost its slots.
 */
public final class ClusterConnections implements ClusterSource {

  private static final Logger LOG = LoggerFactory.getLogger(ClusterConnections.class);

  /**
   * How long a node may have neither slots nor the prospect of any before its connection is closed.
   */
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final ClientResources resources = LettuceClients.ofNodes();
  private final RedisURI seed;
  private final RedisSettings settings;

  /** Read once: nodes are connected to on threads that must not read files. */
  private final DecisionScripts scripts;

  private final RedisClient seedClient;
  private final ClusterTopology.TopologyLookup views;
  private final TopologyWatch watch;
  private final String name;
  private final Set<String> warned = ConcurrentHashMap.newKeySet();
  private final ConnectionLog log;
  private final Map<NodeAddress, ClusterNode> nodes = new ConcurrentHashMap<>();
  private final AtomicReferenceArray<@Nullable ClusterNode> owners =
      new AtomicReferenceArray<>(SlotHash.SLOT_COUNT);
  private final CompletableFuture<Boolean> firstAttempt = new CompletableFuture<>();
  private volatile @Nullable ClusterTopology topology;
  private volatile boolean closed;

  private ClusterConnections(List<RedisURI> seeds, RedisSettings settings) {
    this.seed = seeds.get(0);
    this.settings = settings;
    this.scripts = DecisionScripts.load(settings.algorithms());
    this.seedClient = LettuceClients.ofNode(resources);
    this.views = new ClusterTopology.TopologyLookup(seedClient, seeds);
    this.watch = new TopologyWatch(resources.eventExecutorGroup(), this::look);
    this.name =
        seeds.stream()
            .map(NodeAddress::text)
            .collect(Collectors.joining(", ", "Redis Cluster at ", ""));
    this.log = new ConnectionLog(LOG, name, 1, "one connection to each", warned);
  }

  /**
   * Begins to connect.
   *
   * @param seeds some nodes of the Cluster, from which the others are discovered; user, password,
   *     TLS and client name of the first apply to all
   */
  public static ClusterConnections open(List<RedisURI> seeds, RedisSettings settings) {
    if (seeds.isEmpty()) {
      throw new IllegalArgumentException("No seed node for the Redis Cluster: name at least one");
    }
    ClusterConnections connections = new ClusterConnections(seeds, settings);
    connections.watch.start();
    return connections;
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
  public CompletionStage<Boolean> firstAttempt() {
    return firstAttempt.copy();
  }

  @Override
  public Primary node(int slot) {
    Primary owner = owners.get(slot);
    if (owner == null) {
      watch.soon();
      throw new StoreException(
          FailureReason.DISCONNECTED, name + ": no node is known for this key", null);
    }
    return owner;
  }

  @Override
  public CompletionStage<Primary> node(Redirection redirection, Primary from) {
    NodeAddress address = redirection.address();
    if (from instanceof ClusterNode teller) {
      address = address.orAt(teller.address().host());
    }
    ClusterTopology found = topology;
    NodeAddress known = found == null ? address : found.known(address);
    ClusterNode open = nodes.get(known);
    CompletionStage<ClusterNode> tried =
        open != null && open.isOpen()
            ? CompletableFuture.completedFuture(open)
            : CompletableFuture.supplyAsync(() -> node(known, new BitSet()), executor())
                .thenCompose(node -> node.firstAttempt().thenApply(warm -> node));
    if (redirection.ask()) {
      return tried.thenApply(node -> node);
    }
    watch.soon();
    return tried.thenApply(
        node -> {
          owners.set(redirection.slot(), node);
          return node;
        });
  }

  /** For tasks that may resolve a name: not on the threads that wait for Redis. */
  private Executor executor() {
    return resources.eventExecutorGroup();
  }

  /** The commands of any node. */
  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    for (ClusterNode node : nodes.values()) {
      if (node.isOpen()) {
        return node.commands();
      }
    }
    throw new StoreException(FailureReason.DISCONNECTED, name + ": no node is connected", null);
  }

  private ClusterNode node(NodeAddress address, BitSet slots) {
    return nodes.computeIfAbsent(address, unknown -> connect(unknown, slots));
  }

  private ClusterNode connect(NodeAddress address, BitSet slots) {
    String nodeName = ClusterNode.name(address);
    ClusterNode node =
        ClusterNode.open(
            address,
            LettuceClients.ofNode(resources),
            seed,
            ManagedConnection.WarmUp.ofNode(
                scripts, settings.batchSize() > 1, settings::name, slots),
            new ConnectionLog(LOG, nodeName, 0, "", warned),
            watch::soon);
    if (closed) {
      node.close();
    }
    return node;
  }

  private CompletionStage<Boolean> look() {
    return views
        .ask(nodes.values())
        .thenApply(views -> ClusterTopology.of(views, seed.isSsl()))
        .thenComposeAsync(this::adopt, executor())
        .exceptionally(
            failure -> {
              log.failed(failure, ManagedConnection.HANDSHAKE_MILLIS);
              firstAttempt.complete(false);
              return false;
            });
  }

  /** Completes when all primaries have been tried once, with whether the Cluster is healthy. */
  private CompletionStage<Boolean> adopt(ClusterTopology found) {
    topology = found;
    List<CompletableFuture<?>> tried = new ArrayList<>();
    found
        .slots()
        .forEach(
            (address, slots) -> {
              ClusterNode node = node(address, slots);
              tried.add(
                  node.firstAttempt()
                      .thenAccept(warm -> assign(slots, node))
                      .toCompletableFuture());
            });
    closeIdle(found);
    return CompletableFuture.allOf(tried.toArray(CompletableFuture[]::new))
        .thenApply(
            done -> {
              boolean well =
                  found.isWell()
                      && found.slots().keySet().stream()
                          .allMatch(address -> node(address, new BitSet()).isOpen());
              nodes.values().stream()
                  .filter(ClusterNode::isOpen)
                  .findAny()
                  .ifPresent(any -> log.connected(any.commands(), primaries(found)));
              firstAttempt.complete(well);
              return well;
            });
  }

  private String primaries(ClusterTopology found) {
    int all = found.slots().size();
    long open =
        found.slots().keySet().stream()
            .map(nodes::get)
            .filter(node -> node != null && node.isOpen())
            .count();
    return (open == all ? "" : open + " of ") + (all == 1 ? "one primary" : all + " primaries");
  }

  private void assign(BitSet slots, ClusterNode node) {
    slots.stream().filter(slot -> owners.get(slot) != node).forEach(slot -> owners.set(slot, node));
  }

  private void closeIdle(ClusterTopology found) {
    long nowNanos = System.nanoTime();
    for (ClusterNode node : List.copyOf(nodes.values())) {
      if (found.slots().containsKey(node.address())) {
        node.idleSinceNanos = 0;
      } else if (node.idleSinceNanos == 0) {
        node.idleSinceNanos = nowNanos;
      } else if (nowNanos - node.idleSinceNanos > IDLE_NANOS) {
        nodes.remove(node.address());
        node.close();
      }
    }
  }

  @Override
  public void close() {
    if (closed) {
      return; // closing clients report at once that they are closed
    }
    closed = true;
    watch.close();
    Collection<RedisClient> clients = new ArrayList<>();
    clients.add(seedClient);
    nodes.values().forEach(node -> clients.add(node.retire()));
    LettuceClients.shutdown(clients, resources);
  }
}
