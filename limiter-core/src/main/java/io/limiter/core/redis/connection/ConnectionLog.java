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
 * Says once that there is no connection, however many are tried how often, and once that all of
 * them stand: at a good start the latter alone. The fallback says how many decisions it has taken.
 */
public final class ConnectionLog {

  /** What Lettuce puts before the host where it quotes a URI. */
  private static final Pattern USER = Pattern.compile("//[^/\\s]*@");

  private final Logger log;
  private final String node;
  private final ServerCheck check;
  private final String connections;

  /** Connections that are still to stand before that is said. */
  private final AtomicInteger missing;

  private final AtomicBoolean failing = new AtomicBoolean();

  /**
   * @param node what is connected to, in words
   * @param count of connections: all of them standing is one message
   * @param connections what they are, in words; empty if that is said elsewhere
   */
  public ConnectionLog(Logger log, String node, int count, String connections) {
    this(log, node, count, connections, new ServerCheck(log, node));
  }

  /**
   * @param count 0 if it need not be said that all is well from the start
   */
  public ConnectionLog(Logger log, String node, int count, String connections, ServerCheck check) {
    this.log = log;
    this.node = node;
    this.missing = new AtomicInteger(count);
    this.connections = connections;
    this.check = check;
  }

  /**
   * @param patienceMillis what the attempt was given
   */
  public void failed(@Nullable Throwable failure, long patienceMillis) {
    log.atLevel(failing.getAndSet(true) ? Level.DEBUG : Level.WARN)
        .log(
            "No connection to {} yet: {}",
            node,
            failure == null ? "" : words(failure, patienceMillis));
  }

  /**
   * One more connection stands, or one is back.
   *
   * @param topology how what is connected to is found or made up, in words
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
