// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** What decides while the store does not answer. */
public enum Fallback {
  /** The memory store: each instance counts for itself. */
  LOCAL,
  /** Every call is allowed without being counted: fail open. */
  ALLOW,
  /** Every call is denied: fail closed. */
  DENY;

  /** The stricter of two, for calls under several policies: deny, then local, then allow. */
  public Fallback and(Fallback other) {
    if (this == DENY || other == DENY) {
      return DENY;
    }
    return this == LOCAL || other == LOCAL ? LOCAL : ALLOW;
  }
}
