// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;

/**
 * Checks once, when a connection is open, whether this Redis keeps what the limiter writes, and
 * logs a warning if not. The limiter works all the same: weaker limits are better than none.
 */
public final class ServerCheck {

  private static final Pattern VERSION = Pattern.compile("(?m)^redis_version:(\\d+)\\.(\\d+)");
  private static final Pattern EVICTION = Pattern.compile("(?m)^maxmemory_policy:(\\S+)");
  private static final int OLDEST = 602;

  private final Logger log;
  private final String node;
  private final Set<String> warned;
  private final AtomicBoolean looked = new AtomicBoolean();

  public ServerCheck(Logger log, String node) {
    this(log, node, ConcurrentHashMap.newKeySet());
  }

  /**
   * @param node the name of the node in messages
   * @param warned warnings that were already logged; one set for all nodes of a Cluster
   */
  public ServerCheck(Logger log, String node, Set<String> warned) {
    this.log = log;
    this.node = node;
    this.warned = warned;
  }

  /** Never fails: a Redis that does not permit the check is not checked. */
  void look(RedisClusterAsyncCommands<byte[], byte[]> commands) {
    if (looked.compareAndSet(false, true)) {
      var unused =
          commands
              .info("server")
              .thenCombine(memory(commands), (server, memory) -> warnings(server + '\n' + memory))
              .thenAccept(
                  warnings ->
                      warnings.stream()
                          .filter(warned::add)
                          .forEach(warning -> log.warn("{} {}", node, warning)));
    }
  }

  private static CompletionStage<String> memory(
      RedisClusterAsyncCommands<byte[], byte[]> commands) {
    return commands.info("memory");
  }

  /** The predicates of sentences about the node. */
  static List<String> warnings(String info) {
    List<String> warnings = new ArrayList<>();
    Matcher version = VERSION.matcher(info);
    if (version.find()) {
      int number = 100 * Integer.parseInt(version.group(1)) + Integer.parseInt(version.group(2));
      if (number < OLDEST) {
        warnings.add(
            "has version %s.%s, which is older than 6.2, the oldest that the limiter is tested with: give it a newer one"
                .formatted(version.group(1), version.group(2)));
      }
    }
    Matcher eviction = EVICTION.matcher(info);
    if (eviction.find() && !eviction.group(1).equals("noeviction")) {
      warnings.add(
          "may evict what was counted, and then admit too much: its maxmemory-policy is %s. Set noeviction, or give the limiter a Redis of its own"
              .formatted(eviction.group(1)));
    }
    return warnings;
  }
}
