// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A store gave no verdict. It has no stack trace: the cause lies in the store, not in the calling
 * code.
 */
public final class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final FailureReason reason;
  private final transient Optional<Duration> retryAfter;
  private final transient Optional<CompletionStage<Verdict>> late;

  /**
   * @param message which store failed, and how
   */
  public StoreException(FailureReason reason, String message, @Nullable Throwable cause) {
    this(reason, message, cause, Optional.empty(), Optional.empty());
  }

  /**
   * Returns the same failure, for a decision whose verdict may still arrive.
   *
   * @param verdict completes with the late verdict, and not before this failure is reported
   */
  public StoreException withLate(CompletionStage<Verdict> verdict) {
    return new StoreException(
        reason, String.valueOf(getMessage()), getCause(), retryAfter, Optional.of(verdict));
  }

  /**
   * The circuit breaker is open, so the store was not asked.
   *
   * @param message names the store
   * @param retryAfter the time after which the store is asked again
   */
  public static StoreException notAsked(String message, Duration retryAfter) {
    return new StoreException(
        FailureReason.BREAKER_OPEN, message, null, Optional.of(retryAfter), Optional.empty());
  }

  private StoreException(
      FailureReason reason,
      String message,
      @Nullable Throwable cause,
      Optional<Duration> retryAfter,
      Optional<CompletionStage<Verdict>> late) {
    super(message, cause, false, false);
    this.reason = reason;
    this.retryAfter = retryAfter;
    this.late = late;
  }

  /**
   * The verdict that arrives too late for the call, if it arrives; completes on a thread of the
   * store. Empty if no verdict can arrive.
   */
  public Optional<CompletionStage<Verdict>> late() {
    return late;
  }

  /** Why there is no verdict. */
  public FailureReason reason() {
    return reason;
  }

  /** The time after which the store is asked again; empty if the next call asks it. */
  public Optional<Duration> retryAfter() {
    return retryAfter;
  }
}
