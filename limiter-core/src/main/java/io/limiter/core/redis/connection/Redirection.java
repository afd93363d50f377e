// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisCommandExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A Cluster node's reply to a call about a key that it does not have: nothing ran.
 *
 * @param slot of the key
 * @param address the node that has it; without a host if that is the host of the replying node
 * @param ask whether the slot is migrating there, so that the node answers about this key only
 *     after ASKING; otherwise it has the slot for good
 */
public record Redirection(int slot, NodeAddress address, boolean ask) {

  private static final Pattern REDIRECTION = Pattern.compile("(MOVED|ASK) (\\d{1,5}) (\\S*:\\d+)");

  /** Parses a failure; null if it is not a redirection. */
  public static @Nullable Redirection of(Throwable failure) {
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
