// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import java.io.IOException;

/** A log of which nothing can be planned; its message names the log and the remedy. */
public final class LogException extends IOException {

  private static final long serialVersionUID = 1L;

  LogException(String message) {
    super(message);
  }
}
