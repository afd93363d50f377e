// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisCommandExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A Cluster node's answer to a call about a key that it has not: nothing ran.
 *
 * @param slot of the key
 * @param address the node that has it; without a host if that is the host of the one who answered
 * @param ask whether the slot is on its way there, so that it answers about this key only if asked
 *     with ASKING; else it has the slot for good
 */
public record Redirection(int slot, NodeAddress address, boolean ask) {

  private static final Pattern REDIRECTION = Pattern.compile("(MOVED|ASK) (\\d{1,5}) (\\S*:\\d+)");

  /** Null if a failure is something else. */
  public static @Nullable Redirection of(Throwable failure) {
    if (!(failure instanceof RedisCommandExecutionException)) {
      return null;
    }
    Matcher told = REDIRECTION.matcher(String.valueOf(failure.getMessage()));
    return told.lookingAt()
        ? new Redirection(
            Integer.parseInt(told.group(2)),
            NodeAddress.parse(told.group(3)),
            told.group(1).equals("ASK"))
        : null;
  }
}
