// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

/** The command line is not understood; the message names what and the remedy. */
public final class UsageException extends RuntimeException {

  private static final long serialVersionUID = 1;

  public UsageException(String message) {
    super(message);
  }
}
