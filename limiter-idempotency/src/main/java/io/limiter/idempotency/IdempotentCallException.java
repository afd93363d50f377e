// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import org.jspecify.annotations.Nullable;

/**
 * Work that runs once for each key was not run, and there is no result to repeat. It has no stack
 * trace: the reason is another call. No message contains a key.
 */
public abstract sealed class IdempotentCallException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String scope;

  private IdempotentCallException(String scope, String message, @Nullable Throwable cause) {
    super("'%s': %s".formatted(scope, message), cause, false, false);
    this.scope = scope;
  }

  /** The scope of the key. */
  public final String scope() {
    return scope;
  }

  /** The work runs under this key for longer than a repetition waits. It may be repeated later. */
  public static final class KeyInUseException extends IdempotentCallException {

    private static final long serialVersionUID = 1L;

    public KeyInUseException(String scope) {
      super(scope, "the work runs under this key: repeat the call later", null);
    }
  }

  /** The key belongs to other content. A repetition fails in the same way while it is kept. */
  public static final class KeyReusedException extends IdempotentCallException {

    private static final long serialVersionUID = 1L;

    public KeyReusedException(String scope) {
      super(scope, "this key was used with other content: use another key", null);
    }
  }

  /**
   * The work has run under this key, but its result cannot be repeated: it was too large, had no
   * room or could not be written, or what is stored cannot be read.
   */
  public static final class ResultUnavailableException extends IdempotentCallException {

    private static final long serialVersionUID = 1L;

    /**
     * @param cause why it cannot be read; null if it was not kept, or is that of another version or
     *     key
     */
    public ResultUnavailableException(String scope, @Nullable Throwable cause) {
      super(scope, "the work has run under this key, but its result is not available", cause);
    }
  }
}
