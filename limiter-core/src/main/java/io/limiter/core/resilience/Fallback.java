// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

/** Who decides while the store does not answer. */
public enum Fallback {
  /** Memory: each instance counts for itself. */
  LOCAL,
  /** Nobody, and every call is allowed: fail open. */
  ALLOW,
  /** Nobody, and every call is refused: fail closed. */
  DENY
}
