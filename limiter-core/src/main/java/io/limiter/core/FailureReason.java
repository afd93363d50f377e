// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** Why a store gave no answer. */
public enum FailureReason {
  /** The store did not answer within its deadline. Whether it counted the call is unknown. */
  TIMEOUT,
  /**
   * The event loop stalled past the hard deadline: the thread that sends commands to the store and
   * reads its replies got no processor time. This is not a failure of the store. Whether the store
   * counted the call is unknown.
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
