// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** The effect of a decision on the store's state. */
public enum Mode {
  /** Answers like {@link #ACQUIRE}, but takes nothing. */
  PEEK,
  /** Takes the units if all rules admit the call, otherwise nothing. */
  ACQUIRE,
  /** Takes the units even if the rules would deny the call. */
  RECORD
}
