// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

/**
 * Runs the continuation of a decision for calls that were not made on their request's event loop. A
 * bean of the application may replace the limiter's own, with
 * {@code @Replaces(Continuations.class)}.
 */
@FunctionalInterface
public interface Continuations {

  /**
   * Runs a continuation on another thread than the current one, which may belong to the store.
   *
   * @param continuation may run code of the application, and may block. It must never wait for a
   *     thread whose task may wait for this continuation: do not use a bounded executor that
   *     callers of limited methods share, or a single thread that runs continuations one after
   *     another
   */
  void run(Runnable continuation);
}
