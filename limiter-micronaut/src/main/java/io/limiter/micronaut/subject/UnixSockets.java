// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.http.HttpRequest;

/** Tells which requests come over a Unix domain socket, which HTTP requests do not tell. */
@FunctionalInterface
interface UnixSockets {

  /** Whether this one does. A connection of some other kind without an address is none. */
  boolean serve(HttpRequest<?> request);
}
