// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.event.Level;

/**
 * Logs a missing connection once, however many connections are tried and how often, and its reason
 * once, if the first attempt only took too long. Logs once when all of them are open. After a good
 * start only the latter is logged. The fallback logs the number of its decisions.
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

  /** Whether the reason was logged, which a timeout does not state. */
  private final AtomicBoolean explained = new AtomicBoolean();

  /**
   * @param node the name of the server in messages
   * @param count the number of connections; one message is logged when all of them are open
   * @param connections a description for messages; empty if another object logs it
   */
  public ConnectionLog(Logger log, String node, int count, String connections) {
    this(log, node, count, connections, ConcurrentHashMap.newKeySet(), false);
  }

  /**
   * The log of a Cluster or of one of its nodes.
   *
   * @param count 0 if a good start is not logged
   * @param warned warnings about servers that were already logged; one set for all nodes
   */
  public ConnectionLog(Logger log, String node, int count, String connections, Set<String> warned) {
    this(log, node, count, connections, warned, true);
  }

  private ConnectionLog(
      Logger log,
      String node,
      int count,
      String connections,
      Set<String> warned,
      boolean ofCluster) {
    this.log = log;
    this.node = node;
    this.missing = new AtomicInteger(count);
    this.connections = connections;
    this.check = new ServerCheck(log, node, warned, ofCluster);
  }

  /** {@code host:port}, an IPv6 address in brackets. */
  public static String hostAndPort(String host, int port) {
    boolean bare = host.indexOf(':') >= 0 && !host.startsWith("[");
    return (bare ? '[' + host + ']' : host) + ':' + port;
  }

  /** The remote address of a channel; null if it has none, or no port. */
  static @Nullable String hostAndPort(@Nullable SocketAddress address) {
    return address instanceof InetSocketAddress known
        ? hostAndPort(known.getHostString(), known.getPort())
        : null;
  }

  /**
   * @param patienceMillis the time limit of the attempt
   */
  public void failed(@Nullable Throwable failure, long patienceMillis) {
    boolean explains = failure != null && !isTimeout(root(failure));
    boolean first = !failing.getAndSet(true);
    boolean firstReason = explains && !explained.getAndSet(true);
    log.atLevel(first || firstReason ? Level.WARN : Level.DEBUG)
        .log(
            "No connection to {} yet: {}",
            node,
            failure == null ? "" : words("it", failure, patienceMillis));
  }

  /**
   * A connection is open, for the first time or again.
   *
   * @param topology how the server is found or set up, for messages
   */
  public void connected(RedisClusterAsyncCommands<byte[], byte[]> commands, String topology) {
    boolean first = missing.get() > 0;
    boolean all = !first || missing.decrementAndGet() == 0;
    if (all) {
      explained.set(false);
    }
    if (all && (failing.getAndSet(false) || first)) {
      log.info(
          "Connected to {}{}",
          node,
          connections.isEmpty() ? "" : ": " + topology + ", " + connections);
    }
    check.look(commands);
  }

  /**
   * Completes once the first server has been asked: with true if it is a node of a Redis Cluster,
   * and with false if it is not, or does not answer that in time.
   */
  public CompletionStage<Boolean> isClusterNode() {
    return check.clusterNode.copy();
  }

  /** Sentences about the servers that were connected so far. */
  public List<String> warnings() {
    return check.warned.stream().map(warning -> node + ' ' + warning).sorted().toList();
  }

  private static boolean isTimeout(Throwable root) {
    return root instanceof TimeoutException || root instanceof RedisCommandTimeoutException;
  }

  static Throwable root(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root;
  }

  /**
   * Why a server has not answered, without any secret.
   *
   * @param server its name in the text
   */
  static String words(String server, Throwable failure, long patienceMillis) {
    Throwable root = root(failure);
    if (root instanceof TimeoutException) {
      return server + " was not ready within " + patienceMillis + " ms";
    }
    if (root instanceof RedisCommandExecutionException) {
      return String.valueOf(RedisFailures.translate(root, server).getMessage());
    }
    String message = root.getMessage();
    return message == null // such as Netty's, of a channel that was closed
        ? root.getClass().getSimpleName()
        : USER.matcher(message).replaceAll("//");
  }

  /**
   * Checks once, when a connection is open, whether this Redis keeps what the limiter writes, and
   * logs a warning if not. The limiter works anyway: weaker limits are better than none.
   */
  static final class ServerCheck {

    private static final Pattern VERSION =
        Pattern.compile("(?m)^redis_version:((\\d+)\\.(\\d+)\\S*)");
    private static final Pattern VALKEY = Pattern.compile("(?m)^valkey_version:(\\S+)");
    private static final Pattern EVICTION = Pattern.compile("(?m)^maxmemory_policy:(\\S+)");
    private static final Pattern CLUSTER = Pattern.compile("(?m)^cluster_enabled:1");
    private static final int OLDEST = 602;

    private final Logger log;
    private final String node;
    private final Set<String> warned;
    private final boolean ofCluster;
    private final AtomicBoolean looked = new AtomicBoolean();
    private final CompletableFuture<Boolean> clusterNode = new CompletableFuture<>();

    /**
     * @param node the name of the node in messages
     * @param warned as for the log
     * @param ofCluster whether the node is known as one of a Cluster
     */
    ServerCheck(Logger log, String node, Set<String> warned, boolean ofCluster) {
      this.log = log;
      this.node = node;
      this.warned = warned;
      this.ofCluster = ofCluster;
    }

    /** Never fails: a Redis that does not permit the check is not checked. */
    void look(RedisClusterAsyncCommands<byte[], byte[]> commands) {
      if (looked.compareAndSet(false, true)) {
        // The start waits for it, and a proxy may never answer.
        clusterNode.completeOnTimeout(
            false, ManagedConnection.HANDSHAKE_MILLIS, TimeUnit.MILLISECONDS);
        var unused =
            commands
                .info("server")
                .thenCombine(commands.info("memory"), (server, memory) -> server + '\n' + memory)
                .thenCombine(commands.info("cluster"), (known, cluster) -> known + '\n' + cluster)
                .thenAccept(this::know)
                .whenComplete((known, failure) -> clusterNode.complete(false));
      }
    }

    private void know(String info) {
      warnings(info, ofCluster).stream()
          .map(warning -> product(info) + warning)
          .filter(warned::add)
          .forEach(warning -> log.warn("{} {}", node, warning));
      clusterNode.complete(CLUSTER.matcher(info).find());
    }

    /**
     * The name and the version of the server in parentheses; nothing if they are not known. Valkey
     * reports a version of Redis, too.
     */
    static String product(String info) {
      Matcher valkey = VALKEY.matcher(info);
      if (valkey.find()) {
        return "(Valkey %s) ".formatted(valkey.group(1));
      }
      Matcher redis = VERSION.matcher(info);
      return redis.find() ? "(Redis %s) ".formatted(redis.group(1)) : "";
    }

    /** The warnings about the node, as predicates of sentences. */
    static List<String> warnings(String info, boolean ofCluster) {
      List<String> warnings = new ArrayList<>();
      if (!ofCluster && CLUSTER.matcher(info).find()) {
        warnings.add(
            "is one node of a Redis Cluster: name several of its nodes in redis.uris instead of redis.uri, so that each start finds one of them");
      }
      Matcher version = VERSION.matcher(info);
      if (version.find()) {
        int number = 100 * Integer.parseInt(version.group(2)) + Integer.parseInt(version.group(3));
        if (number < OLDEST) {
          warnings.add(
              "is older than 6.2, the oldest version that the limiter is tested with: use 6.2 or later");
        }
      }
      Matcher eviction = EVICTION.matcher(info);
      if (eviction.find() && !eviction.group(1).equals("noeviction")) {
        warnings.add(
            "has maxmemory-policy %s, so it may evict state, and then the limiter admits too many calls: set noeviction, or use a separate Redis for the limiter"
                .formatted(eviction.group(1)));
      }
      return warnings;
    }
  }
}
