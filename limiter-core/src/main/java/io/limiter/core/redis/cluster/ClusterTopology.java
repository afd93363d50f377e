// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.redis.connection.NodeAddress;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which primary has which slots, by what several nodes tell. Where they disagree, as while a
 * replica is promoted, the claim with the higher configuration epoch holds: so the nodes themselves
 * settle it.
 */
final class ClusterTopology {

  private static final int ID = 0;
  private static final int ADDRESS = 1;
  private static final int FLAGS = 2;
  private static final int EPOCH = 6;
  private static final int FIRST_SLOTS = 8;

  /** Nodes that cannot be connected to, or are none yet. */
  private static final Set<String> NOBODY = Set.of("noaddr", "handshake");

  private final Map<NodeAddress, BitSet> slots = new LinkedHashMap<>();
  private final Map<NodeAddress, NodeAddress> aliases = new HashMap<>();
  private final boolean well;

  /**
   * What one node tells.
   *
   * @param host at which it was asked
   * @param nodes its answer to CLUSTER NODES
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
        if (flags.isEmpty() || flags.stream().anyMatch(NOBODY::contains)) {
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
        long epoch = Long.parseLong(fields[EPOCH]) + 1; // 0 is nobody's
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
   * @param byName whether nodes that tell a name are known by it, as a TLS certificate wants, not
   *     by their address
   */
  static ClusterTopology of(Collection<View> views, boolean byName) {
    return new ClusterTopology(views, byName);
  }

  private static List<String> of(String flags) {
    return List.of(flags.split(","));
  }

  /** {@code ip:port@busport,name}, of which all but the port may be missing. */
  private NodeAddress address(String told, String teller, boolean byName) {
    String[] parts = told.split("[@,]");
    NodeAddress byIp = NodeAddress.parse(parts[0]).orAt(teller);
    if (parts.length < 3 || parts[2].isEmpty() || parts[2].contains("=")) {
      return byIp;
    }
    NodeAddress named = new NodeAddress(parts[2], byIp.port());
    NodeAddress known = byName ? named : byIp;
    aliases.put(byName ? byIp : named, known);
    return known;
  }

  /** {@code 0-5460 7000}; slots on their way are in brackets, and still with this node. */
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

  /** All primaries and their slots, those among them that have none yet. */
  Map<NodeAddress, BitSet> slots() {
    return slots;
  }

  /** Whether every slot has a primary, and nobody thinks that one of these fails. */
  boolean isWell() {
    return well;
  }

  /** The one of a node's addresses that it is known by here. */
  NodeAddress known(NodeAddress address) {
    return aliases.getOrDefault(address, address);
  }
}
