// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** Why a store gave no answer. */
public enum FailureReason {
  /** The store did not answer within its deadline. Whether it counted the call is not known. */
  TIMEOUT,
  /**
   * This process did not run: the thread that sends commands to the store and reads its replies got
   * no processor time until the hard deadline. This is no failure of the store. Whether it counted
   * the call is not known.
   */
  PROCESS_LATE,
  /** There is no connection, or it was lost before the reply arrived. */
  DISCONNECTED,
  /** Too many calls were waiting for a reply, so the store was not asked. */
  OVERLOADED,
  /** The store failed recently and the circuit breaker is open, so the store was not asked. */
  BREAKER_OPEN,
  /** The store replied with an error, or with something that is not a valid reply. */
  ERROR
}
