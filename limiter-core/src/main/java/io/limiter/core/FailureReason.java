// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** Why a store gave no answer. */
public enum FailureReason {
  /** It did not answer within its deadline; whether it counted the call is not known. */
  TIMEOUT,
  /** There is no connection, or it was lost before the answer came. */
  DISCONNECTED,
  /** Too many calls were waiting for an answer; it was not asked. */
  OVERLOADED,
  /** It failed a moment ago, so it was not asked. */
  BREAKER_OPEN,
  /** It answered with an error, or with something that is no answer. */
  ERROR
}
