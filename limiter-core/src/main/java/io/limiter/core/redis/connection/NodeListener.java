// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.limiter.core.StoreException;
import java.util.function.BooleanSupplier;

/**
 * Receives the loss of Redis nodes, and their return, in turn for each node. All methods run on
 * threads of the store, event loops among them: they must not block or throw.
 */
public interface NodeListener {

  /**
   * A node is called for the first time. Once for each node, before its other events.
   *
   * @param node its name in messages, such as {@code Redis at db:6379}
   * @param breakerOpen whether its breaker is open, at any later time
   */
  default void added(String node, BooleanSupplier breakerOpen) {}

  /**
   * A node failed so often that its breaker opened, or five calls in a row found no connection to
   * it.
   *
   * @param node its name in messages, such as {@code Redis at db:6379}
   * @param why the last failure
   */
  void lost(String node, StoreException why);

  /**
   * A lost node has answered a call: it decides again.
   *
   * @param node its name in messages
   */
  void back(String node);
}
