// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import java.net.URI;

/**
 * A closed loop: a fixed number of connections, each of which sends a request as soon as the last
 * is answered. It measures the throughput of a service, not the waiting times of independent
 * callers.
 */
public interface Generator {

  /** How many connections send at once, unless another number is given. */
  int CONNECTIONS = 64;

  /** Its name, for the report. */
  String name();

  /**
   * Sends requests for this time, and returns at the end.
   *
   * @throws IllegalStateException if it failed, with the reason
   */
  LoadResult run(URI uri, double seconds);

  /** wrk if it is installed, otherwise the built-in one. */
  static Generator find(int connections) {
    return Wrk.isInstalled() ? new Wrk(connections) : new ClosedLoop(connections);
  }
}
