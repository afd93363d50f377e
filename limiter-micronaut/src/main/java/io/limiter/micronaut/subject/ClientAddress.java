// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.http.HttpRequest;

/**
 * Finds the address that a request is counted by: that of the connection, or what the proxies tell
 * that {@code limiter.address.trusted-proxies} names. Replace the bean where something else tells
 * it. Micronaut's HttpClientAddressResolver is not used: it believes forwarded headers from
 * anybody.
 */
@FunctionalInterface
public interface ClientAddress {

  /**
   * The address of the caller, or the network that stands for it; never empty. Asked at most once a
   * request, mostly on its event loop: it must not wait.
   */
  String of(HttpRequest<?> request);
}
