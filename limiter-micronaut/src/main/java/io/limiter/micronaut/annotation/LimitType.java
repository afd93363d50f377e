// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** Who is counted. */
public enum LimitType {
  /** The address the request came from: the TCP peer, an IPv6 address cut to its /64. */
  IP,
  /** The user who is logged in; an anonymous caller is counted by address. */
  USER_ID,
  /** Everybody together. */
  GLOBAL
}
