// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.awaitility.Awaitility.await;

import io.lettuce.core.MigrateArgs;
import io.lettuce.core.cluster.models.partitions.ClusterPartitionParser;
import java.time.Duration;
import java.util.List;

/**
 * The migration of a slot of a {@link ClusterGroup} from one primary to another, as operators do
 * it.
 */
public record SlotMove(ClusterGroup group, int slot, RedisProcess from, RedisProcess to) {

  private static final long PATIENCE_MILLIS = 5_000;
  private static final int KEYS_AT_ONCE = 100;

  /** From its primary to the next one. */
  public static SlotMove of(ClusterGroup group, int slot) {
    RedisProcess from = group.owner(slot);
    int next = (group.servers().indexOf(from) + 1) % ClusterGroup.PRIMARIES;
    return new SlotMove(group, slot, from, group.servers().get(next));
  }

  public SlotMove back() {
    return new SlotMove(group, slot, to, from);
  }

  /** The slot is migrating: new keys are created at the other node, existing ones stay. */
  public void begin() {
    group.admin(to).clusterSetSlotImporting(slot, group.admin(from).clusterMyId());
    group.admin(from).clusterSetSlotMigrating(slot, group.admin(to).clusterMyId());
  }

  /** Moves all present keys. */
  public void moveKeys() {
    List<String> keys = group.admin(from).clusterGetKeysInSlot(slot, Integer.MAX_VALUE);
    for (int i = 0; i < keys.size(); i += KEYS_AT_ONCE) {
      List<String> some = keys.subList(i, Math.min(keys.size(), i + KEYS_AT_ONCE));
      group
          .admin(from)
          .migrate(
              "127.0.0.1", to.port(), 0, PATIENCE_MILLIS, MigrateArgs.Builder.keys(some).replace());
    }
  }

  /** Moves one key, which is present. */
  public void moveKey(String key) {
    group.admin(from).migrate("127.0.0.1", to.port(), key, 0, PATIENCE_MILLIS);
  }

  /** The other node has the slot, and both are informed. */
  public void end() {
    moveKeys();
    String id = group.admin(to).clusterMyId();
    group.admin(to).clusterSetSlotNode(slot, id);
    group.admin(from).clusterSetSlotNode(slot, id);
    // A node that gets a slot back before it knows this epoch would take the same one, and then
    // each
    // of the two may take the other for the owner.
    await()
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(2))
        .atMost(Duration.ofMillis(PATIENCE_MILLIS))
        .until(() -> epoch(from, id) == epoch(to, id));
  }

  /** The epoch of a node, as far as a server knows it. */
  private long epoch(RedisProcess server, String id) {
    return ClusterPartitionParser.parse(group.admin(server).clusterNodes())
        .getPartitionByNodeId(id)
        .getConfigEpoch();
  }
}
