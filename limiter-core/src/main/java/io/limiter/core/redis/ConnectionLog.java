// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.event.Level;

/**
 * Says once that there is no connection, however many are tried how often, and once that there is
 * one again; the fallback says how many decisions it has taken.
 */
final class ConnectionLog {

  private final Logger log;
  private final String node;
  private final ServerCheck check;
  private final AtomicBoolean failing = new AtomicBoolean();

  ConnectionLog(Logger log) {
    this(log, "Redis", new ServerCheck(log));
  }

  /**
   * @param node what is connected to, in words
   */
  ConnectionLog(Logger log, String node, ServerCheck check) {
    this.log = log;
    this.node = node;
    this.check = check;
  }

  /**
   * @param patienceMillis what the attempt was given
   */
  void failed(@Nullable Throwable failure, long patienceMillis) {
    log.atLevel(failing.getAndSet(true) ? Level.DEBUG : Level.WARN)
        .log(
            "No connection to {} yet: {}",
            node,
            failure == null ? "" : words(failure, patienceMillis));
  }

  void connected(RedisClusterAsyncCommands<byte[], byte[]> commands) {
    if (failing.getAndSet(false)) {
      log.info("Connected to {}", node);
    }
    check.look(commands);
  }

  private static String words(Throwable failure, long patienceMillis) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    if (root instanceof TimeoutException) {
      return "it was not ready within " + patienceMillis + " ms";
    }
    return root instanceof RedisCommandExecutionException
        ? String.valueOf(RedisFailures.translate(root).getMessage())
        : String.valueOf(root.getMessage());
  }
}
