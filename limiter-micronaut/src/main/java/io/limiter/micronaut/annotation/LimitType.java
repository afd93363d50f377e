// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** Who is counted. */
public enum LimitType {
  /**
   * The address the request came from: the TCP peer, or whom a trusted proxy tells ({@code
   * limiter.address.trusted-proxies}), an IPv6 address cut to its /64.
   */
  IP,
  /**
   * The user who is logged in when the request is decided: the principal that micronaut-security
   * sets, or a filter of the application at an order below 39,250; {@link Anonymous} says what
   * becomes of others.
   */
  USER_ID,
  /** Everybody together. */
  GLOBAL,
  /**
   * The value of a request header, which {@link RateLimiter#header} names; {@link Anonymous} says
   * what becomes of requests without one. A header is what the caller says it is: let something
   * check it before, or give each address a limit too.
   */
  HEADER
}
