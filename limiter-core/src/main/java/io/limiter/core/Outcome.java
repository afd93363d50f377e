// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** The outcome of a decision. */
public enum Outcome {
  /** Every rule admits the call, or the store did not answer and the fallback admits calls. */
  ALLOWED,
  /** The subject is banned because too many of its calls were denied. */
  BANNED,
  /** At least one rule denies the call; the duplicate guard may deny it too. */
  LIMITED,
  /** The rules admit the call, but the same submission was accepted before. */
  DUPLICATE,
  /**
   * The store did not answer, and the fallback denies calls. No rule and no duplicate guard denied
   * the call.
   */
  UNAVAILABLE
}
