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

  /**
   * The text by which a client at this address is counted, where code names the client instead of a
   * request: equal to what {@link #of} gives for its requests. By default the address itself. A
   * text that {@link #of} gave is returned as it is.
   *
   * @throws IllegalArgumentException if no client has this address
   */
  default String counted(String address) {
    return address;
  }
}
