// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import org.jspecify.annotations.Nullable;

/**
 * A store gave no verdict. Without a stack trace: it says where the store failed, not where it was
 * asked.
 */
public final class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final FailureReason reason;

  /**
   * @param message which store failed, and how
   */
  public StoreException(FailureReason reason, String message, @Nullable Throwable cause) {
    super(message, cause, false, false);
    this.reason = reason;
  }

  /** Why there is no verdict. */
  public FailureReason reason() {
    return reason;
  }
}
