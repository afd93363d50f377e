// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.LoggerFactory;

/**
 * A breaker for each Redis node, so that a node that is down does not affect calls to the others.
 */
public final class NodeBreakers {

  /** The most breakers; if more addresses come and go, the remaining ones share a breaker. */
  private static final int MAX_NODES = 1_000;

  private static final String OTHERS = "A Redis beyond the first " + MAX_NODES;

  private final Function<String, Breaker> make;
  private final Map<String, Breaker> breakers = new ConcurrentHashMap<>();

  public NodeBreakers() {
    this(node -> new Breaker(new BreakerLog(LoggerFactory.getLogger(Breaker.class), node)));
  }

  public NodeBreakers(Function<String, Breaker> make) {
    this.make = make;
  }

  /**
   * @param node its name in messages
   */
  public Breaker of(String node) {
    Breaker known = breakers.get(node);
    if (known != null) {
      return known;
    }
    String name = breakers.size() < MAX_NODES ? node : OTHERS;
    return breakers.computeIfAbsent(name, make);
  }

  /** Whether calls to a node are rejected now; false if there was none yet. */
  public boolean isOpen(String node) {
    Breaker known = breakers.get(node);
    return known != null && known.isOpen();
  }
}
