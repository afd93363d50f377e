// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.http.HttpRequest;

/**
 * Finds the address that a request is counted by: that of the connection, or the one reported by
 * the proxies in {@code limiter.address.trusted-proxies}. Replace the bean if the address comes
 * from elsewhere. Micronaut's HttpClientAddressResolver is not used, since it trusts forwarded
 * headers from any peer.
 */
@FunctionalInterface
public interface ClientAddress {

  /**
   * The client's address, or the network that represents it; never empty. It is called at most once
   * for each request, mostly on its event loop, so it must not block.
   */
  String of(HttpRequest<?> request);
}
