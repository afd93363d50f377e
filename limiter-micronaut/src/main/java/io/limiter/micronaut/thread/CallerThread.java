// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.Executor;

/** Finds the executor that the current thread belongs to, for one kind of server. */
@FunctionalInterface
public interface CallerThread {

  /** The executor to come back to; empty if the current thread is none of this request's server. */
  Optional<Executor> current(HttpRequest<?> request);

  /** Whether the current thread serves many connections, so that it must never wait. */
  default boolean isEventLoop() {
    return false;
  }
}
