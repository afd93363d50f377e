// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

/**
 * Runs what follows a decision where the call was not made on its request's event loop. A bean of
 * the application may take the place of the limiter's own, with
 * {@code @Replaces(Continuations.class)}.
 */
@FunctionalInterface
public interface Continuations {

  /**
   * Runs a continuation, on another thread than this, which may be one of the store's.
   *
   * @param continuation may run code of the application, and may block. It must never have to wait
   *     for a thread whose task may wait for it: so not in an executor with a bound that is shared
   *     with callers of limited methods, nor in one thread after another continuation
   */
  void run(Runnable continuation);
}
