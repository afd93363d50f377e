// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.http.HttpRequest;

/**
 * Finds the address that a request is counted by. Replace the bean where proxies of your own stand
 * before the service. Micronaut's HttpClientAddressResolver is not used: it believes forwarded
 * headers from anybody.
 */
@FunctionalInterface
public interface ClientAddress {

  /** The address of the caller, or the network that stands for it; never empty. */
  String of(HttpRequest<?> request);
}
