// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.event.Level;

/**
 * Logs once that there is no connection, however many connections are tried and how often, and once
 * that all of them are open; after a good start only the latter. The fallback logs the number of
 * its decisions.
 */
public final class ConnectionLog {

  /** The user information that Lettuce puts before the host where it quotes a URI. */
  private static final Pattern USER = Pattern.compile("//[^/\\s]*@");

  private final Logger log;
  private final String node;
  private final ServerCheck check;
  private final String connections;

  /** Connections that are not yet open; once all are, it is logged. */
  private final AtomicInteger missing;

  private final AtomicBoolean failing = new AtomicBoolean();

  /**
   * @param node the name of the server in messages
   * @param count the number of connections; one message is logged when all of them are open
   * @param connections a description for messages; empty if another object logs it
   */
  public ConnectionLog(Logger log, String node, int count, String connections) {
    this(log, node, count, connections, new ServerCheck(log, node));
  }

  /**
   * @param count 0 if a good start is not logged
   */
  public ConnectionLog(Logger log, String node, int count, String connections, ServerCheck check) {
    this.log = log;
    this.node = node;
    this.missing = new AtomicInteger(count);
    this.connections = connections;
    this.check = check;
  }

  /**
   * @param patienceMillis the time limit of the attempt
   */
  public void failed(@Nullable Throwable failure, long patienceMillis) {
    log.atLevel(failing.getAndSet(true) ? Level.DEBUG : Level.WARN)
        .log(
            "No connection to {} yet: {}",
            node,
            failure == null ? "" : words(failure, patienceMillis));
  }

  /**
   * A connection is open, for the first time or again.
   *
   * @param topology how the server is found or set up, for messages
   */
  public void connected(RedisClusterAsyncCommands<byte[], byte[]> commands, String topology) {
    boolean first = missing.get() > 0;
    boolean all = !first || missing.decrementAndGet() == 0;
    if (all && (failing.getAndSet(false) || first)) {
      log.info(
          "Connected to {}{}",
          node,
          connections.isEmpty() ? "" : ": " + topology + ", " + connections);
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
        ? String.valueOf(RedisFailures.translate(root, "it").getMessage())
        : USER.matcher(String.valueOf(root.getMessage())).replaceAll("//");
  }
}
