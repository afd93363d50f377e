// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.redis.ConnectionSource.NodeAddress;
import io.limiter.core.redis.connection.LettuceClients;
import io.limiter.core.redis.connection.ManagedConnection;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Which primary has which slots, according to several nodes. If they disagree, for example while a
 * replica is promoted, the claim with the higher configuration epoch holds, as it does between the
 * nodes themselves.
 */
final class ClusterTopology {

  private static final int ID = 0;
  private static final int ADDRESS = 1;
  private static final int FLAGS = 2;
  private static final int EPOCH = 6;
  private static final int FIRST_SLOTS = 8;

  /** Nodes that cannot be connected to, or are not part of the Cluster yet. */
  private static final Set<String> UNUSABLE = Set.of("noaddr", "handshake");

  private final Map<NodeAddress, BitSet> slots = new LinkedHashMap<>();
  private final Map<NodeAddress, NodeAddress> aliases = new HashMap<>();
  private final boolean well;

  /**
   * The answer of one node.
   *
   * @param host the host at which it was asked
   * @param nodes its reply to CLUSTER NODES
   */
  record View(String host, String nodes) {}

  private ClusterTopology(Collection<View> views, boolean byName) {
    NodeAddress[] owners = new NodeAddress[SlotHash.SLOT_COUNT];
    long[] epochs = new long[SlotHash.SLOT_COUNT];
    Set<String> demoted = new HashSet<>();
    Map<String, NodeAddress> primaries = new LinkedHashMap<>();
    boolean failing = false;
    for (View view : views) {
      for (String line : view.nodes.split("\n")) {
        String[] fields = line.split(" ");
        List<String> flags = fields.length < FIRST_SLOTS ? List.of() : of(fields[FLAGS]);
        if (flags.isEmpty() || flags.stream().anyMatch(UNUSABLE::contains)) {
          continue;
        }
        NodeAddress address = address(fields[ADDRESS], view.host, byName);
        boolean fails = flags.contains("fail") || flags.contains("fail?");
        if (!flags.contains("master") || (fails && fields.length == FIRST_SLOTS)) {
          demoted.add(fields[ID]);
          continue;
        }
        failing |= fails;
        primaries.put(fields[ID], address);
        long epoch = Long.parseLong(fields[EPOCH]) + 1; // 0 stands for no owner
        slots(fields).stream()
            .filter(slot -> epoch > epochs[slot])
            .forEach(
                slot -> {
                  owners[slot] = address;
                  epochs[slot] = epoch;
                });
      }
    }
    primaries.keySet().removeAll(demoted);
    primaries.values().forEach(address -> slots.put(address, new BitSet()));
    int owned = 0;
    for (int slot = 0; slot < owners.length; slot++) {
      if (owners[slot] != null) {
        slots.computeIfAbsent(owners[slot], address -> new BitSet()).set(slot);
        owned++;
      }
    }
    well = owned == owners.length && !failing;
  }

  /**
   * @param byName whether nodes that report a name are identified by it, as TLS certificates
   *     require, instead of by their address
   */
  static ClusterTopology of(Collection<View> views, boolean byName) {
    return new ClusterTopology(views, byName);
  }

  private static List<String> of(String flags) {
    return List.of(flags.split(","));
  }

  /** Parses {@code ip:port@busport,name}, of which all but the port may be missing. */
  private NodeAddress address(String text, String host, boolean byName) {
    String[] parts = text.split("[@,]");
    NodeAddress byIp = NodeAddress.parse(parts[0]).orAt(host);
    if (parts.length < 3 || parts[2].isEmpty() || parts[2].contains("=")) {
      return byIp;
    }
    NodeAddress named = new NodeAddress(parts[2], byIp.port());
    NodeAddress known = byName ? named : byIp;
    aliases.put(byName ? byIp : named, known);
    return known;
  }

  /** Parses {@code 0-5460 7000}; migrating slots are in brackets, and still belong to this node. */
  private static BitSet slots(String[] fields) {
    BitSet slots = new BitSet();
    for (int i = FIRST_SLOTS; i < fields.length; i++) {
      if (!fields[i].startsWith("[")) {
        String[] range = fields[i].split("-");
        slots.set(Integer.parseInt(range[0]), Integer.parseInt(range[range.length - 1]) + 1);
      }
    }
    return slots;
  }

  /** All primaries and their slots, including primaries without slots. */
  Map<NodeAddress, BitSet> slots() {
    return slots;
  }

  /** Whether every slot has a primary, and no node reports one of these as failing. */
  boolean isWell() {
    return well;
  }

  /** Returns the address by which a node is identified here. */
  NodeAddress known(NodeAddress address) {
    return aliases.getOrDefault(address, address);
  }

  /**
   * Asks some nodes of a Cluster for the map of slots: connected nodes, or, if there are none,
   * those of the configuration.
   */
  static final class TopologyLookup {

    /** More than one, since a node may be cut off from the others without detecting it. */
    private static final int MOST_ASKED = 3;

    /** Time limit for the reply of a connected node. */
    private static final long ANSWER_MILLIS = 500;

    private final RedisClient client;
    private final List<RedisURI> seeds;

    /**
     * @param client for connections to the seeds, each of which ends with the reply
     */
    TopologyLookup(RedisClient client, List<RedisURI> seeds) {
      this.client = client;
      this.seeds = seeds.stream().map(ManagedConnection::bounded).toList();
    }

    /** Completes with the replies that arrived in time; fails if there are none. */
    CompletionStage<Collection<View>> ask(Collection<ClusterNode> nodes) {
      List<ClusterNode> open = new ArrayList<>(nodes);
      open.removeIf(node -> !node.isOpen());
      return ask(open, TopologyLookup::askNode)
          .exceptionallyCompose(failure -> ask(seeds, this::askSeed));
    }

    private static <T> CompletionStage<Collection<View>> ask(
        List<T> candidates, Function<T, CompletionStage<View>> ask) {
      List<T> some = new ArrayList<>(candidates);
      Collections.shuffle(some);
      Queue<View> views = new ConcurrentLinkedQueue<>();
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

    private static CompletionStage<View> askNode(ClusterNode node) {
      try {
        return node.commands()
            .clusterNodes()
            .toCompletableFuture()
            .orTimeout(ANSWER_MILLIS, TimeUnit.MILLISECONDS)
            .thenApply(answer -> new View(node.address().host(), answer));
      } catch (RuntimeException disconnected) {
        return CompletableFuture.failedFuture(disconnected);
      }
    }

    private CompletionStage<View> askSeed(RedisURI seed) {
      return LettuceClients.<String>ask(
              client, seed, ManagedConnection.HANDSHAKE_MILLIS, commands -> commands.clusterNodes())
          .thenApply(answer -> new View(seed.getHost(), answer));
    }
  }
}
