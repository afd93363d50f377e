// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.models.partitions.ClusterPartitionParser;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/**
 * A Redis Cluster of three primaries, each with a third of the slots, and their replicas, on
 * loopback, of real processes. The nodes consider one of them lost after a second.
 */
public final class ClusterGroup implements AutoCloseable {

  public static final int PRIMARIES = 3;

  /** The time after which a silent node is considered lost. */
  public static final Duration NODE_TIMEOUT = Duration.ofSeconds(1);

  private static final Duration READY = Duration.ofSeconds(30);

  private final RedisClient client = RedisClient.create();
  private final Path directory;
  private final List<RedisProcess> servers = new ArrayList<>();
  private final Map<RedisProcess, StatefulRedisConnection<String, String>> admins = new HashMap<>();

  private ClusterGroup(Path directory) {
    this.directory = directory;
  }

  /**
   * Three primaries and three replicas.
   *
   * @param settings of each node, as for {@link RedisProcess#onFreePort}
   */
  public static ClusterGroup start(String... settings) {
    return start(2 * PRIMARIES, settings);
  }

  /** Three primaries. */
  public static ClusterGroup withoutReplicas(String... settings) {
    return start(PRIMARIES, settings);
  }

  private static ClusterGroup start(int nodes, String... settings) {
    ClusterGroup group = new ClusterGroup(temporaryDirectory());
    try {
      for (int i = 0; i < nodes; i++) {
        group.startNode(settings);
      }
      // As redis-cli does. Nodes of one epoch settle later whose counts, and a slot that moves
      // meanwhile may end where each of two nodes takes the other for its owner.
      for (int i = 0; i < nodes; i++) {
        group.admin(group.servers.get(i)).clusterSetConfigEpoch(i + 1);
      }
      group.meet();
      for (int i = 0; i < PRIMARIES; i++) {
        int first = i * SlotHash.SLOT_COUNT / PRIMARIES;
        int end = (i + 1) * SlotHash.SLOT_COUNT / PRIMARIES;
        group.admin(group.servers.get(i)).clusterAddSlots(IntStream.range(first, end).toArray());
      }
      Awaitility.await().atMost(READY).until(() -> group.know(nodes));
      for (int i = PRIMARIES; i < nodes; i++) {
        String primary = group.admin(group.servers.get(i - PRIMARIES)).clusterMyId();
        group.admin(group.servers.get(i)).clusterReplicate(primary);
      }
      Awaitility.await().atMost(READY).until(() -> group.isReady(nodes));
      return group;
    } catch (RuntimeException e) {
      group.close();
      throw e;
    }
  }

  /** One more node, without any others. */
  private RedisProcess startNode(String... settings) {
    int port = Ports.free();
    List<String> all =
        new ArrayList<>(
            List.of(
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                Long.toString(NODE_TIMEOUT.toMillis()),
                "--cluster-config-file",
                directory.resolve("nodes-" + port + ".conf").toString(),
                "--repl-diskless-sync-delay",
                "0"));
    all.addAll(List.of(settings));
    RedisProcess server = RedisProcess.onPort(port, all.toArray(String[]::new)).start();
    servers.add(server);
    return server;
  }

  /** Starts another node, which joins without slots. */
  public RedisProcess join(String... settings) {
    RedisProcess joined = startNode(settings);
    meet();
    int size = servers.size();
    Awaitility.await().atMost(READY).until(() -> know(size));
    return joined;
  }

  private void meet() {
    RedisProcess first = servers.get(0);
    servers.stream()
        .skip(1)
        .forEach(server -> admin(first).clusterMeet("127.0.0.1", server.port()));
  }

  private boolean know(int nodes) {
    return servers.stream().allMatch(server -> nodes(server).size() == nodes);
  }

  private boolean isReady(int nodes) {
    return servers.stream()
        .allMatch(
            server ->
                admin(server).clusterInfo().contains("cluster_state:ok")
                    && primaries(server).size() == PRIMARIES
                    && (nodes == PRIMARIES || !isReplica(server) || isSynchronized(server)));
  }

  private boolean isReplica(RedisProcess server) {
    return admin(server).info("replication").contains("role:slave");
  }

  private boolean isSynchronized(RedisProcess server) {
    return admin(server).info("replication").contains("master_link_status:up");
  }

  private List<RedisClusterNode> nodes(RedisProcess server) {
    return List.copyOf(ClusterPartitionParser.parse(admin(server).clusterNodes()).getPartitions());
  }

  private List<RedisClusterNode> primaries(RedisProcess server) {
    return nodes(server).stream().filter(node -> !node.getSlots().isEmpty()).toList();
  }

  /** The primary of a slot, according to most of the running nodes. */
  public RedisProcess owner(int slot) {
    return servers.stream()
        .filter(RedisProcess::isRunning)
        .flatMap(server -> nodes(server).stream())
        .filter(node -> node.hasSlot(slot) && !node.is(RedisClusterNode.NodeFlag.FAIL))
        .max((one, other) -> Long.compare(one.getConfigEpoch(), other.getConfigEpoch()))
        .map(node -> server(node.getUri().getPort()))
        .orElseThrow(() -> new IllegalStateException("No primary has slot " + slot));
  }

  /** Whether the others have given the slots of a lost primary to its replica. */
  public boolean isReplaced(RedisProcess lost) {
    RedisProcess other =
        servers.stream().filter(server -> server != lost).findFirst().orElseThrow();
    return primaries(other).stream().noneMatch(node -> node.getUri().getPort() == lost.port());
  }

  private RedisProcess server(int port) {
    return servers.stream().filter(server -> server.port() == port).findFirst().orElseThrow();
  }

  /** All nodes, the primaries first, as they were at the start. */
  public List<RedisProcess> servers() {
    return List.copyOf(servers);
  }

  /** The URIs of two nodes, as seeds. */
  public List<String> uris() {
    return servers.stream().limit(2).map(RedisProcess::uri).toList();
  }

  /** Commands to one node. */
  public synchronized RedisCommands<String, String> admin(RedisProcess server) {
    return admins
        .computeIfAbsent(
            server,
            unknown -> {
              RedisURI uri = RedisURI.create(server.uri());
              uri.setTimeout(Duration.ofSeconds(5));
              return client.connect(uri);
            })
        .sync();
  }

  private static Path temporaryDirectory() {
    try {
      return Files.createTempDirectory("limiter-cluster-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    servers.forEach(RedisProcess::close);
    try (Stream<Path> files = Files.list(directory)) {
      files.forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    directory.toFile().delete();
  }
}
