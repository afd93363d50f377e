// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import java.net.URI;

/**
 * A closed loop: so many connections, each of which asks again as soon as it is answered. What it
 * tells is how much a service can do, and not how long a caller waits who knows nothing of the
 * others.
 */
interface Generator {

  /** How many connections ask at once. */
  int CONNECTIONS = 64;

  /** What it is, for the report. */
  String name();

  /**
   * Asks for so long, and returns when it is over.
   *
   * @throws IllegalStateException if it could not, and why
   */
  Load run(URI uri, double seconds);

  /** wrk where it is installed, else the one that is built in. */
  static Generator find() {
    return Wrk.isInstalled() ? new Wrk() : new ClosedLoop();
  }
}
