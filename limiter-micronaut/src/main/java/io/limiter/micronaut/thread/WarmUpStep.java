// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.limiter.core.store.LimitStore;
import io.micronaut.core.annotation.Internal;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A part of the limiter that is run before the first request, once on the thread that starts the
 * application and once on each event loop: the work of a first call, such as loading classes, takes
 * longer than a deadline. A step runs the code that calls run, with its own keys, and does not call
 * code of the application.
 */
@Internal
public interface WarmUpStep {

  /** The policy of warm-up calls; their limit keys begin with this name. */
  String POLICY = "io.limiter.warm-up";

  /**
   * Runs the code that calls run. A failure is logged at debug level and does not stop the start.
   * It must not create beans on an event loop: the thread that waits for it may hold the lock for
   * singletons.
   *
   * @param store decides the calls; its decisions appear in no counters and no log
   */
  CompletionStage<?> run(LimitStore store);

  /**
   * Runs what no deadline includes, so that the start need not wait for it: once, a moment after
   * the server listens, on a thread that may block. By default nothing.
   */
  default CompletionStage<?> respond(LimitStore store) {
    return CompletableFuture.completedFuture(null);
  }
}
