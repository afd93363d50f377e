// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.limiter.core.store.LimitStore;
import io.micronaut.core.annotation.Internal;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/**
 * A part of the limiter that is run before the first request, once on the thread that starts the
 * application and once on each event loop: what a call does for the first time, such as loading
 * classes, takes longer than a deadline. It runs what calls run, about keys of its own, and calls
 * no code of the application.
 */
@Internal
public interface WarmUpStep {

  /** The policy of such calls; what they limit has a name that begins so. */
  String POLICY = "io.limiter.warm-up";

  /**
   * Runs what calls run. What it throws, or its stage fails with, is logged at debug level and
   * stops nothing. It makes no beans on an event loop: the thread that waits for it may hold the
   * lock of singletons.
   *
   * @param store decides; its decisions are in no counts and no log
   * @param home runs what follows a decision: the current event loop
   */
  CompletionStage<?> run(LimitStore store, Executor home);
}
