// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Connections to the nodes of a Redis Cluster, each of which has the keys of some slots. */
public interface ClusterSource extends ConnectionSource {

  /** One node. */
  interface Primary extends ConnectionSource {

    /** The name of the node, also that of its breaker. */
    @Override
    String name();

    /**
     * The commands of an open connection, each preceded by ASKING.
     *
     * @throws StoreException with reason {@code DISCONNECTED} if there is none now
     */
    RedisClusterAsyncCommands<byte[], byte[]> asking();

    /** Reports a failed call to it: another node may have its slots by now. Does not block. */
    void failed();
  }

  /**
   * The node that has a slot.
   *
   * @throws StoreException with reason {@code DISCONNECTED} if none is known
   */
  Primary node(int slot);

  /**
   * The node to which a call is redirected, once a connection to it has been tried.
   *
   * @param from the node that replied
   */
  CompletionStage<Primary> node(Redirection redirection, Primary from);

  /**
   * A node's reply to a call about a key that it does not have: nothing ran.
   *
   * @param slot of the key
   * @param address the node that has it; without a host if that is the host of the replying node
   * @param ask whether the slot is migrating there, so that the node answers about this key only
   *     after ASKING; otherwise it has the slot for good
   */
  record Redirection(int slot, NodeAddress address, boolean ask) {

    private static final Pattern REDIRECTION =
        Pattern.compile("(MOVED|ASK) (\\d{1,5}) (\\S*:\\d+)");

    /** Parses a failure; null if it is not a redirection. */
    static @Nullable Redirection of(Throwable failure) {
      if (!(failure instanceof RedisCommandExecutionException)) {
        return null;
      }
      Matcher matcher = REDIRECTION.matcher(String.valueOf(failure.getMessage()));
      return matcher.lookingAt()
          ? new Redirection(
              Integer.parseInt(matcher.group(2)),
              NodeAddress.parse(matcher.group(3)),
              matcher.group(1).equals("ASK"))
          : null;
    }
  }
}
