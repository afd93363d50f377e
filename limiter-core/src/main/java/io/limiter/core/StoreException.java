// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A store gave no verdict. Without a stack trace: it says where the store failed, not where it was
 * asked.
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
   * The same failure of a decision whose verdict may still come.
   *
   * @param verdict completes if it does, and not before this failure is known
   */
  public StoreException withLate(CompletionStage<Verdict> verdict) {
    return new StoreException(
        reason, String.valueOf(getMessage()), getCause(), retryAfter, Optional.of(verdict));
  }

  /**
   * The store failed a moment ago, so it was not asked.
   *
   * @param message which store
   * @param retryAfter the time after which it is asked again
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
   * The verdict that came too late for the call, should it come; completes on a thread of the
   * store. Empty if none can come.
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
