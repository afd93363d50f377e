// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

/** The command line is invalid; the message gives the cause and the remedy. */
public final class UsageException extends RuntimeException {

  private static final long serialVersionUID = 1;

  public UsageException(String message) {
    super(message);
  }
}
