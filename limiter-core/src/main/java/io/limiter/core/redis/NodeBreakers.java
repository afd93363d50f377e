// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.RedisHealth.NodeListener;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A breaker for each Redis node, so that a node that is down does not affect calls to the others.
 */
final class NodeBreakers {

  /** The most breakers; if more addresses come and go, the remaining ones share a breaker. */
  private static final int MAX_NODES = 1_000;

  private static final String OTHERS = "Redis nodes beyond the first " + MAX_NODES;

  private final Function<String, Breaker> make;
  private final Map<String, Breaker> breakers = new ConcurrentHashMap<>();

  NodeBreakers() {
    this(List.of());
  }

  /**
   * @param listeners receive the loss of each node, and its return
   */
  NodeBreakers(List<NodeListener> listeners) {
    this(node -> breaker(node, listeners));
  }

  private static Breaker breaker(String node, List<NodeListener> listeners) {
    Breaker made =
        new Breaker(new BreakerLog(LoggerFactory.getLogger(Breaker.class), node, listeners));
    listeners.forEach(listener -> listener.added(node, made::isLost));
    return made;
  }

  NodeBreakers(Function<String, Breaker> make) {
    this.make = make;
  }

  /**
   * @param node its name in messages
   */
  Breaker of(String node) {
    Breaker known = breakers.get(node);
    if (known != null) {
      return known;
    }
    String name = breakers.size() < MAX_NODES ? node : OTHERS;
    return breakers.computeIfAbsent(name, make);
  }

  /** Whether a node is {@linkplain Breaker#isLost lost}; false if there was no call yet. */
  boolean isLost(String node) {
    Breaker known = breakers.get(node);
    return known != null && known.isLost();
  }

  /**
   * Logs when a breaker opens and closes, and when a node without a connection is lost and back. If
   * Redis comes and goes, a loss is logged at most once in two seconds, and its end only if the
   * loss was. In the long run this is at most one message a second, and the last one is accurate.
   * Listeners receive each loss of the node and each return.
   */
  static final class BreakerLog {

    private static final long INTERVAL_NANOS = Duration.ofSeconds(2).toNanos();

    private final Logger log;
    private final String node;
    private final List<NodeListener> listeners;
    private boolean loggedBefore;
    private long lastLoggedNanos;
    private boolean openingLogged;
    private boolean lossLogged;
    private long lostNanos;
    private long openingsSinceLog;

    /**
     * @param node the name of the node in messages
     */
    BreakerLog(Logger log, String node) {
      this(log, node, List.of());
    }

    /**
     * @param node the name of the node in messages
     * @param listeners receive each loss of the node and each return
     */
    BreakerLog(Logger log, String node, List<NodeListener> listeners) {
      this.log = log;
      this.node = node;
      this.listeners = List.copyOf(listeners);
    }

    /** The name of the node in messages. */
    String node() {
      return node;
    }

    synchronized void opened(long nowNanos, String what, StoreException why) {
      openingLogged = false;
      openingsSinceLog++;
      log(nowNanos, what, why);
    }

    /** The node is lost; unless its breaker has opened, this is logged here. */
    synchronized void lost(long nowNanos, StoreException why) {
      lostNanos = nowNanos;
      lossLogged = why.reason() == FailureReason.DISCONNECTED && isDue(nowNanos);
      if (lossLogged) {
        log.warn(
            "{} is away: {} calls in a row found no connection. The fallback decides until it is connected again",
            node,
            Breaker.IN_A_ROW);
        logged(nowNanos);
      }
      listeners.forEach(listener -> listener.lost(node, why));
    }

    synchronized void back(long nowNanos) {
      if (lossLogged) {
        log.info("{} decides again, after {} s", node, secondsLost(nowNanos));
      }
      listeners.forEach(listener -> listener.back(node));
    }

    /** A probe has failed. */
    synchronized void stillOpen(long nowNanos, StoreException why) {
      if (!openingLogged) {
        log(nowNanos, "a probe failed", why);
      }
    }

    private void log(long nowNanos, String what, StoreException why) {
      if (!isDue(nowNanos)) {
        return;
      }
      log.warn(
          "{} has failed, so its circuit breaker is open: {}, the last with {} ({}). A probe is sent about once a second. Openings since the last message: {}",
          node,
          what,
          why.reason(),
          why.getMessage(),
          openingsSinceLog);
      logged(nowNanos);
      openingLogged = true;
      openingsSinceLog = 0;
    }

    private boolean isDue(long nowNanos) {
      return !loggedBefore || nowNanos - lastLoggedNanos >= INTERVAL_NANOS;
    }

    private void logged(long nowNanos) {
      loggedBefore = true;
      lastLoggedNanos = nowNanos;
    }

    synchronized void closed(long nowNanos) {
      if (openingLogged) {
        log.info(
            "{} has answered a probe after {} s: its circuit breaker is closed",
            node,
            secondsLost(nowNanos));
      }
    }

    private long secondsLost(long nowNanos) {
      return Duration.ofNanos(nowNanos - lostNanos).toSeconds();
    }
  }
}
