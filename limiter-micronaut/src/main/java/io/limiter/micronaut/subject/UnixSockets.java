// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.http.HttpRequest;

/** Detects requests over a Unix domain socket, which HTTP requests do not expose. */
@FunctionalInterface
interface UnixSockets {

  /** Whether this request does. Other connections without an address do not count. */
  boolean serve(HttpRequest<?> request);
}
