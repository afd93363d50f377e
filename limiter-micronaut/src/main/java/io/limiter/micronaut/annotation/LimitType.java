// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** Who is counted. */
public enum LimitType {
  /**
   * The client's address: the TCP peer, or the address that a trusted proxy reports ({@code
   * limiter.address.trusted-proxies}). An IPv6 address is cut to its /64. Beside {@link
   * RateLimiter#header} the address in that header; without a readable one as {@link Anonymous}
   * defines.
   */
  IP,
  /**
   * The user who is logged in when the request is decided: the principal that micronaut-security
   * sets, or a filter of the application at an order below 39,250; {@link Anonymous} defines how
   * other requests are limited.
   */
  USER_ID,
  /** All calls together, as one subject. */
  GLOBAL,
  /**
   * The value of a request header, which {@link RateLimiter#header} names; {@link Anonymous}
   * defines how requests without it are limited. The caller chooses the value of a header: verify
   * it first, or add a limit on each address.
   */
  HEADER
}
