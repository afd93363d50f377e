// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** What became of a call. */
public enum Outcome {
  /** Every rule admits it; or nobody looked, since the store did not answer and calls pass then. */
  ALLOWED,
  /** The subject is banned, since its calls were refused too often, whatever the rules say now. */
  BANNED,
  /** At least one rule refuses it, whether or not the duplicate guard does. */
  LIMITED,
  /** The rules admit it, but the same submission was accepted before. */
  DUPLICATE,
  /**
   * Nobody looked: the store did not answer, and calls are refused then. Neither a rule nor the
   * duplicate guard refuses it.
   */
  UNAVAILABLE
}
