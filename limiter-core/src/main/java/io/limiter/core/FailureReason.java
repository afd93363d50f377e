// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** Why a store gave no answer. */
public enum FailureReason {
  /** It did not answer within its deadline; whether it counted the call is not known. */
  TIMEOUT,
  /**
   * This process did not run: the thread that hands commands to the store and reads its answers had
   * no time until the hard deadline. The store is not to blame; whether it counted the call is not
   * known.
   */
  PROCESS_LATE,
  /** There is no connection, or it was lost before the answer came. */
  DISCONNECTED,
  /** Too many calls were waiting for an answer; it was not asked. */
  OVERLOADED,
  /** It failed a moment ago, so it was not asked. */
  BREAKER_OPEN,
  /** It answered with an error, or with something that is no answer. */
  ERROR
}
