// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.address.IpAddress;
import io.micronaut.core.annotation.Internal;
import org.jspecify.annotations.Nullable;

/**
 * Callers that are listed at run time, in addition to those of {@code limiter.block} and {@code
 * limiter.exempt}: a bean of an optional module. Each request asks, on its event loop.
 */
@Internal
public interface ListedCallers {

  /** Those whose requests are rejected; null if there are none now. */
  @Nullable Callers blocked();

  /** Those without limits; null if there are none now. */
  @Nullable Callers exempt();

  /** The callers that are listed for one purpose. */
  interface Callers {

    /** Whether there are any addresses: else nothing has to find that of a client. */
    boolean hasAddresses();

    /** Whether there is an address or a network of this client. */
    boolean hasAddress(IpAddress client);

    /** Whether peers on a Unix domain socket are listed. */
    boolean hasUnixSockets();

    /** Whether there is a user of this name. */
    boolean hasUser(String name);
  }
}
